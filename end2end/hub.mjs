// The demo's simulated hubs, as somebody with kubectl would reach them: by the kubeconfigs that the demo leaves.
import { readdirSync, readFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';

function all(dir = process.env.DEMO_HUBS ?? '.ssvirt/hubs') {
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

// What a VM's disks are on its hub, by the names of its volumes.
export function claims({ object }) {
  const named = object.spec.template.spec.volumes.map(v => [v.name, v.dataVolume?.name ?? v.persistentVolumeClaim?.claimName]);
  return Object.fromEntries(named.filter(([, claim]) => claim));
}

const KINDS = [
  '/api/v1/secrets', '/api/v1/persistentvolumeclaims', '/apis/cdi.kubevirt.io/v1beta1/datavolumes',
  '/apis/kubevirt.io/v1/virtualmachines', '/apis/kubevirt.io/v1/virtualmachineinstances',
  '/apis/k8s.ovn.org/v1/userdefinednetworks', '/apis/k8s.ovn.org/v1/clusteruserdefinednetworks',
  '/apis/k8s.cni.cncf.io/v1/network-attachment-definitions',
  ...['virtualmachinesnapshots', 'virtualmachinesnapshotcontents', 'virtualmachinerestores'].map(kind => `/apis/snapshot.kubevirt.io/v1beta1/${kind}`),
];

// Everything on any hub in which one of these words stands, as kind and name: what there is of something, or is left of it.
export const mentions = (...words) => mentionedBy(all(), words);

// The same on the hubs of another demo.
export const mentionsAt = (dir, ...words) => mentionedBy(all(dir), words);

async function mentionedBy(hubs, words) {
  const lists = await Promise.all(hubs.flatMap(hub => KINDS.map(path => call(hub, 'GET', path).catch(error => {
    // a hub that does not have the kind has nothing of it
    if (!error.message.includes(': 404 ')) throw error;
    return { items: [] };
  }).then(list => list.items.map(item => [path.split('/').pop(), item])))));
  const found = lists.flat().filter(([, item]) => words.some(word => JSON.stringify(item).includes(word)));
  return found.map(([kind, item]) => `${kind} ${item.metadata.name}`);
}
