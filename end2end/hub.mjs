// The demo's simulated hubs, as somebody with kubectl would reach them: by the kubeconfigs that the demo leaves.
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';

function all() {
  const dir = process.env.DEMO_HUBS ?? '.ssvirt/hubs';
  return readdirSync(dir).filter(name => name.endsWith('.kubeconfig')).map(name => {
    const text = readFileSync(join(dir, name), 'utf8');
    const word = key => text.match(new RegExp(`${key}: "?([^"\\s]+)"?`))[1];
    return { server: word('server'), ca: Buffer.from(word('certificate-authority-data'), 'base64'), token: word('token') };
  });
}

function call(hub, method, path, body) {
  return new Promise((done, failed) => {
    const headers = { authorization: `Bearer ${hub.token}` };
    if (body) headers['content-type'] = 'application/merge-patch+json';
    const req = request(hub.server + path, { method, ca: hub.ca, headers }, res => {
      let text = '';
      res.on('data', part => { text += part; });
      res.on('end', () => (res.statusCode < 300 ? done(JSON.parse(text)) : failed(new Error(`${method} ${path}: ${res.statusCode} ${text}`))));
    });
    req.on('error', failed).end(body && JSON.stringify(body));
  });
}

// The VM of that id on whichever hub has it: what it is like now, and ways to change it behind SSVirt's back.
export async function machine(id) {
  for (const hub of all()) {
    const found = await call(hub, 'GET', `/apis/kubevirt.io/v1/virtualmachines?labelSelector=ssvirt.io/vm-id=${id}`).catch(() => ({ items: [] }));
    if (found.items.length === 1) {
      const [object] = found.items;
      const { namespace, name } = object.metadata;
      const path = `/apis/kubevirt.io/v1/namespaces/${namespace}/virtualmachines/${name}`;
      return { object, patch: body => call(hub, 'PATCH', path, body), remove: () => call(hub, 'DELETE', path) };
    }
  }
  throw new Error(`no hub has the VM ${id}`);
}

// The names of all objects of a kind, on all hubs, that carry a label: what is left of something.
export async function labelled(path, label) {
  const found = await Promise.all(all().map(hub => call(hub, 'GET', `${path}?labelSelector=${label}`).catch(() => ({ items: [] }))));
  return found.flatMap(list => list.items.map(item => item.metadata.name));
}
