// A session without a server. For a host that a user hands back and whose agent has no identity of its own: the identity was never issued, its file is
// damaged, or it belongs to the host that this one was copied from. Components are handed back without contacting a cluster.
import { HttpKubeClient } from '#kube/http/client.ts'
import { readState } from '../files/durable.ts'
import { hostMark, readCredential, readIdentity, type Identity, type IdentityDeps } from '../join/identity.ts'
import { sealingKey } from '../join/sealing-key.ts'
import { parseOrder } from '../machine-order.ts'
import { machineFile } from '../node-dir.ts'
import type { Session } from '../session.ts'

/** False for a copy of another host: its identity belongs to the original. */
export async function hasOwnIdentity(deps: IdentityDeps): Promise<boolean> {
  const known = await readIdentity(deps)
  if (known === undefined || known.host !== (await hostMark(deps))) return false
  return (await readCredential(deps, known.form)) !== undefined
}

export async function sessionAlone({ files, dir }: IdentityDeps): Promise<Session> {
  const identity = (await readIdentity({ files, dir })) ?? (await nobody({ files, dir }))
  const refuse = () => Promise.reject(new Error('this host leaves without an identity of its own'))
  return {
    identity,
    isAlone: true,
    // Called for credentials before each request; returns none.
    client: new HttpKubeClient({ server: identity.server, ca: { data: identity.ca }, identity: refuse }),
    machineUid: () => undefined,
    isMachineThere: () => Promise.resolve(false),
    sealing: await sealingKey({ files, dir }),
    certificateLife: () => undefined,
    authorities: [],
    followAuthorities: () => new Promise(() => undefined),
    tokenCondition: () => undefined,
    serverVersion: () => Promise.resolve(undefined),
    keep: () => Promise.resolve(),
  }
}

/** The identity file cannot be read; the last order from the Machine has the name. */
async function nobody({ files, dir }: IdentityDeps): Promise<Identity> {
  const machine = (await readState(files, machineFile(dir), parseOrder))?.name ?? ''
  return {
    format: 1,
    server: 'https://127.0.0.1',
    ca: '',
    machine,
    node: machine,
    cluster: '',
    artifactBase: 'file:///',
    registerNode: false,
    trust: { sequence: 0, threshold: 1, keys: [] },
    host: '',
  }
}
