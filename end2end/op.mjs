// A real OpenID Connect provider (the npm package oidc-provider) on loopback, with people to sign in as; any password will do.
// For the browser tests, and to try by hand beside a demo: node end2end/op.mjs 4000 http://localhost:8080
import { createServer } from 'node:http';
import { pathToFileURL } from 'node:url';
import { Provider } from 'oidc-provider';

export const client = { id: 'ssvirt', secret: 'known-to-everybody' };

const people = {
  alice: { name: 'Alice Admin', groups: ['cloud-admins', 'tenant-admins'] },
  bob: { name: 'Bob Builder', groups: ['staff', 'bowling'] },
  carol: { name: 'Carol Guest', groups: ['bowling'] },
  dave: { name: 'Dave Doubtful', groups: ['staff'] },
  mallory: { name: 'Mallory', groups: ['cloud-admins'] },
};

// Who is called otherwise is somebody too, of the staff: for names that are taken already.
function account(login) {
  const { name, groups } = people[login] ?? { name: login, groups: ['staff'] };
  const claims = { preferred_username: login, name, email: `${login}@example.org`, email_verified: true, groups };
  return { accountId: login, claims: () => ({ sub: login, ...claims }) };
}

// `sites` are the addresses that browsers may be sent back to.
export async function start(sites, port = 0) {
  const server = createServer();
  await new Promise((done, failed) => server.listen(port, '127.0.0.1', done).once('error', failed));
  const issuer = `http://127.0.0.1:${server.address().port}`;
  // what it warns of is right for production
  const warn = console.warn;
  console.warn = () => {};
  const provider = new Provider(issuer, {
    clients: [{
      client_id: client.id,
      client_secret: client.secret,
      redirect_uris: sites.map(site => `${site}/sign-in/sso/callback`),
    }],
    claims: { openid: ['sub'], profile: ['name', 'preferred_username'], email: ['email', 'email_verified'], groups: ['groups'] },
    findAccount: (_, login) => account(login),
    cookies: { keys: ['not a secret: the data are nobody\'s'] },
    pkce: { required: () => true },
    ttl: { AccessToken: 60, AuthorizationCode: 60, Grant: 600, IdToken: 60, Interaction: 600, Session: 600 },
  });
  server.on('request', provider.callback());
  console.warn = warn;
  return { issuer, stop: () => new Promise(done => { server.close(done); server.closeAllConnections(); }) };
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [port = '4000', ...sites] = process.argv.slice(2);
  const { issuer } = await start(sites.length ? sites : ['http://localhost:8080'], Number(port));
  console.log(`${issuer}\n  client id      ${client.id}\n  client secret  ${client.secret}`);
  for (const [login, { groups }] of Object.entries(people)) console.log(`  ${login.padEnd(15)}${groups.join(', ')}`);
}
