// What every host of control planes must do, as cases that any test runner can run against any host: repeatable calls, honest absence, nothing lost by an
// upgrade, nothing left by a deletion.
import { credentials } from '#controlplanes/credentials/graph.ts'
import type { Held } from '#controlplanes/credentials/held.ts'
import { carryOut } from '#controlplanes/credentials/make.ts'
import { EMBEDDED_RECIPE } from '#controlplanes/credentials/recipe.ts'
import { serverCredentials, type ServerCredentials } from '#controlplanes/credentials/server-credentials.ts'
import type { ControlPlane, ControlPlaneHost, ControlPlaneRequest, ControlPlaneShape } from '#controlplanes/port.ts'

/** A client of one control plane, made from a kubeconfig. */
export interface PlaneClient {
  /** Of Kubernetes, as the server reports it, without the v and what follows the patch; undefined when it does not answer. */
  version(): Promise<string | undefined>
  /** Writes one value under the name, in the default namespace. */
  write(name: string, value: string): Promise<void>
  read(name: string): Promise<string | undefined>
  /** Of the whole store, as a list names it. */
  revision(): Promise<number>
  /** The user that the server takes the client for. */
  user(): Promise<string>
  close(): void
}

interface ConformanceTools {
  readonly host: ControlPlaneHost
  readonly connect: (kubeconfig: string) => PlaneClient
  /** Two versions that it serves, the older first. */
  readonly versions: readonly [string, string]
  /** For a host that builds control planes of parts. */
  readonly shape?: Partial<ControlPlaneShape>
  /** A host that was restarted, as after a crash. */
  readonly restarted: () => Promise<ControlPlaneHost>
  /** What is there of the control plane besides what the port tells: processes, folders, objects. */
  readonly leftovers: (id: string) => Promise<readonly string[]>
}

export interface ConformanceCase {
  readonly name: string
  /** Throws when the host does not conform. */
  run(tools: ConformanceTools): Promise<void>
}

/** As the graph makes them for a new cluster. */
function newCredentials(endpoint: string, digest: string): ServerCredentials {
  const inputs = {
    recipe: EMBEDDED_RECIPE,
    endpoint,
    hosts: [],
    declared: {},
    servers: { total: 0, running: [] },
    agents: [],
  }
  const now = Date.now()
  let held: Held = {}
  for (;;) {
    const [order] = credentials(inputs, now, held).orders
    const item = order && carryOut(order, now, held)
    if (order === undefined || item === undefined) break
    held = { ...held, [order.name]: item }
  }
  const made = serverCredentials(held, digest)
  must(made !== undefined, 'the credentials are not complete')
  return made
}

class NotConforming extends Error {}

function must(holds: boolean, what: string): asserts holds {
  if (!holds) throw new NotConforming(what)
}

const ADMIN = { user: 'conformance', groups: ['system:masters'], lifeMs: 3_600_000 } as const

/** As a controller does while a control plane starts or changes: within ten minutes. */
const AGAIN_MS = 500
/** A program that ended and is started again: true for a moment, and no reason to give up. */
const PASSES = /is not ready as it is/
const MOST_CALLS = 1_200

const requestFor = (name: string, { versions, shape }: ConformanceTools): ControlPlaneRequest => ({
  ...(shape !== undefined && { shape, upgrade: { soakMs: 0, walksMinors: false } }),
  id: `conformance.${name}`,
  owner: `uid-${name}`,
  version: versions[0],
})

async function put(host: ControlPlaneHost, request: ControlPlaneRequest): Promise<ControlPlane> {
  let plane: ControlPlane | undefined
  for (let calls = 0; ; calls++) {
    const result = await host.put(request)
    const refused = result.kind === 'Refused' ? result.message : undefined
    must(refused === undefined || PASSES.test(refused), `put of ${request.id} was refused: ${refused ?? ''}`)
    if (result.kind === 'Plane') {
      plane = result.plane
      if (plane.state !== 'Starting' && plane.change === undefined) break
    }
    const why = refused ?? plane?.message ?? plane?.change?.message ?? ''
    must(calls < MOST_CALLS, `${request.id} is never done: ${why}`)
    await new Promise((later) => setTimeout(later, AGAIN_MS))
  }
  must(plane.state === 'Running', `${request.id} is ${plane.state} after put: ${plane.message ?? ''}`)
  return plane
}

/** A host that upgrades in steps goes back over its one-way step by a restore, which a person approves. */
function approving(before: ControlPlane | undefined, request: ControlPlaneRequest): ControlPlaneRequest {
  const snapshot = before?.snapshots.findLast((s) => s.version === request.version)
  if (snapshot === undefined || request.upgrade === undefined) return request
  return { ...request, upgrade: { ...request.upgrade, approvedRestore: snapshot.name } }
}

async function clientOf({ host, connect }: ConformanceTools, id: string): Promise<PlaneClient> {
  const text = await host.kubeconfig(id, ADMIN)
  must(text !== undefined, `there is no kubeconfig of ${id}`)
  return connect(text)
}

/** Runs with a client that is closed afterwards. */
async function using<T>(tools: ConformanceTools, id: string, work: (client: PlaneClient) => Promise<T>): Promise<T> {
  const client = await clientOf(tools, id)
  try {
    return await work(client)
  } finally {
    client.close()
  }
}

const write = (tools: ConformanceTools, id: string, value: string): Promise<void> =>
  using(tools, id, (c) => c.write('conformance', value))
const read = (tools: ConformanceTools, id: string): Promise<string | undefined> =>
  using(tools, id, (c) => c.read('conformance'))

async function gone(tools: ConformanceTools, { id, owner }: ControlPlaneRequest): Promise<void> {
  await tools.host.delete(id, { owner })
  must((await tools.host.get(id)) === undefined, 'get finds a control plane that was deleted')
  const left = await tools.leftovers(id)
  must(left.length === 0, `left after the deletion: ${left.join(', ')}`)
}

export const CONFORMANCE: readonly ConformanceCase[] = [
  {
    name: 'a created control plane answers at its endpoint with the version that was asked for',
    run: async (tools) => {
      const request = requestFor('made', tools)
      const plane = await put(tools.host, request)
      must(plane.version === request.version, `it has version ${plane.version}`)
      const told = await using(tools, request.id, (c) => c.version())
      must(told === request.version, `its server reports ${told ?? 'nothing'}`)
      const listed = (await tools.host.list()).filter((p) => p.id === request.id)
      must(listed.length === 1 && listed[0]?.owner === request.owner, 'list does not contain it exactly once')
      await gone(tools, request)
    },
  },
  {
    name: 'a put repeated after a lost reply changes nothing',
    run: async (tools) => {
      const request = requestFor('again', tools)
      const first = await put(tools.host, request)
      await write(tools, request.id, 'kept')
      const second = await put(tools.host, request)
      must(first.endpoint === second.endpoint && first.ca === second.ca, 'a repeated put made another control plane')
      must((await read(tools, request.id)) === 'kept', 'a repeated put lost what was written')
      await gone(tools, request)
    },
  },
  {
    name: 'two concurrent puts make one control plane',
    run: async (tools) => {
      const request = requestFor('twice', tools)
      const [a, b] = await Promise.all([put(tools.host, request), put(tools.host, request)])
      must(a.endpoint === b.endpoint && a.ca === b.ca, 'two puts made two control planes')
      await gone(tools, request)
    },
  },
  {
    name: 'given credentials are in use at once, stay when none are given, and the next ones replace them without a restart',
    run: async (tools) => {
      if (tools.host.capabilities.keepsCredentials === true) return
      const request = requestFor('given', tools)
      const { endpoint } = await put(tools.host, request)
      await write(tools, request.id, 'kept')
      for (const digest of ['first', 'second']) {
        const credentials = newCredentials(endpoint, digest)
        const plane = await put(tools.host, { ...request, credentials })
        must(plane.credentials === digest, `it reports the credentials ${plane.credentials ?? 'nothing'}`)
        must(plane.ca.trim() === credentials.trusted.trim(), 'it has another authority than the one that was given')
        must((await put(tools.host, request)).credentials === digest, 'a put without credentials changed them')
        must((await read(tools, request.id)) === 'kept', 'new credentials lost what was written')
      }
      const after = { ...tools, host: await tools.restarted() }
      must((await after.host.get(request.id))?.credentials === 'second', 'a restart lost the credentials')
      must((await read(after, request.id)) === 'kept', 'a restart lost what was written')
      await gone(after, request)
    },
  },
  {
    name: 'a kubeconfig is for the user that was asked for',
    run: async (tools) => {
      const request = requestFor('user', tools)
      await put(tools.host, request)
      const user = await using(tools, request.id, (c) => c.user())
      must(user === ADMIN.user, `the server takes it for ${user}`)
      await gone(tools, request)
    },
  },
  {
    name: 'a restarted host brings back its control planes with their endpoints and objects',
    run: async (tools) => {
      const request = requestFor('restart', tools)
      const before = await put(tools.host, request)
      await write(tools, request.id, 'kept')
      const host = await tools.restarted()
      const after = await put(host, request)
      must(before.endpoint === after.endpoint, `the endpoint moved to ${after.endpoint}`)
      must((await read({ ...tools, host }, request.id)) === 'kept', 'the restart lost what was written')
      await gone({ ...tools, host }, request)
    },
  },
  {
    name: 'an upgrade and the way back keep endpoint, authority and objects',
    run: async (tools) => {
      const request = requestFor('upgrade', tools)
      const before = await put(tools.host, request)
      await write(tools, request.id, 'kept')
      for (const version of [tools.versions[1], tools.versions[0]]) {
        const plane = await put(tools.host, approving(await tools.host.get(request.id), { ...request, version }))
        must(plane.endpoint === before.endpoint && plane.ca === before.ca, 'endpoint or authority changed')
        const told = await using(tools, request.id, (c) => c.version())
        must(told === version, `its server reports ${told ?? 'nothing'} in place of ${version}`)
        must((await read(tools, request.id)) === 'kept', `version ${version} lost what was written`)
      }
      await gone(tools, request)
    },
  },
  {
    name: 'a version that is not served is refused, and what runs stays',
    run: async (tools) => {
      const request = requestFor('version', tools)
      await put(tools.host, request)
      const result = await tools.host.put({ ...request, version: '1.1.0' })
      must(result.kind === 'Refused' && result.reason === 'VersionNotServed', `put returned ${result.kind}`)
      must((await tools.host.get(request.id))?.version === request.version, 'the version changed')
      must((await using(tools, request.id, (c) => c.version())) === request.version, 'it does not answer any more')
      await gone(tools, request)
    },
  },
  {
    name: 'a snapshot is restored once, also when the reply was lost',
    run: async (tools) => {
      const request = requestFor('restore', tools)
      await put(tools.host, request)
      await write(tools, request.id, 'before')
      const first = await tools.host.snapshot(request.id, 'one')
      must(first !== 'Gone' && first.objects > 0, 'the snapshot is empty')
      await write(tools, request.id, 'after')
      const second = await tools.host.snapshot(request.id, 'one')
      must(second !== 'Gone' && JSON.stringify(second) === JSON.stringify(first), 'a repeated snapshot is another one')
      const how = { snapshot: 'one', token: 't-1' }
      must((await tools.host.restore(request.id, how)) === 'Restored', 'it was not restored')
      must((await read(tools, request.id)) === 'before', 'what was written before the snapshot is not there')
      await write(tools, request.id, 'later')
      must((await tools.host.restore(request.id, how)) === 'Restored', 'a repeated restore is refused')
      must((await read(tools, request.id)) === 'later', 'a repeated restore was done twice')
      must((await tools.host.get(request.id))?.restored === 't-1', 'it does not tell which restore was done')
      await gone(tools, request)
    },
  },
  {
    name: 'what is written after a restore is newer than all that was written before it, also when the snapshot was restored before',
    run: async (tools) => {
      const { host } = tools
      const request = requestFor('revisions', tools)
      await put(host, request)
      await write(tools, request.id, 'first')
      must((await host.snapshot(request.id, 'one')) !== 'Gone', 'no snapshot is taken')
      let newest = 0
      for (const token of ['one/1', 'one/2', 'one/3']) {
        await write(tools, request.id, `before ${token}`)
        const before = await using(tools, request.id, (c) => c.revision())
        must(before > newest, `${before} is not above ${newest}, before ${token}`)
        must((await host.restore(request.id, { snapshot: 'one', token })) === 'Restored', 'it is not restored')
        newest = before
      }
      const last = await using(tools, request.id, (c) => c.revision())
      must(last > newest, `${last} is not above ${newest}, after the last restore`)
      await gone(tools, request)
    },
  },
  {
    name: 'a snapshot that is dropped cannot be restored, and the others can',
    run: async (tools) => {
      const { host } = tools
      const request = requestFor('dropped', tools)
      await put(host, request)
      for (const name of ['one', 'two'])
        must((await host.snapshot(request.id, name)) !== 'Gone', 'no snapshot is taken')
      for (const names of [['one'], ['one'], ['none'], []])
        must((await host.drop(request.id, names)) === 'Dropped', 'a snapshot is not dropped')
      const left = (await host.get(request.id))?.snapshots.map((s) => s.name).join(' ')
      must(left === 'two', `these are left: ${left}`)
      must((await host.restore(request.id, { snapshot: 'one', token: 't-1' })) === 'NoSnapshot', 'it is restored')
      must((await host.restore(request.id, { snapshot: 'two', token: 't-2' })) === 'Restored', 'the other one is not')
      await gone(tools, request)
    },
  },
  {
    name: 'a restore of a snapshot that does not exist changes nothing',
    run: async (tools) => {
      const request = requestFor('nosnapshot', tools)
      await put(tools.host, request)
      await write(tools, request.id, 'kept')
      const result = await tools.host.restore(request.id, { snapshot: 'none', token: 't-1' })
      must(result === 'NoSnapshot', `restore returned ${result}`)
      must((await read(tools, request.id)) === 'kept', 'it lost what was written')
      await gone(tools, request)
    },
  },
  {
    name: 'a stopped control plane does not answer, keeps its objects, and can be snapshotted',
    run: async (tools) => {
      const request = requestFor('stopped', tools)
      await put(tools.host, request)
      await write(tools, request.id, 'kept')
      await using(tools, request.id, async (client) => {
        must((await tools.host.stop(request.id)) === 'Stopped', 'it does not stop')
        must((await client.version()) === undefined, 'a stopped control plane answers')
      })
      must((await tools.host.get(request.id))?.state === 'Stopped', 'it is not reported as stopped')
      must((await tools.host.snapshot(request.id, 'final')) !== 'Gone', 'no snapshot can be taken of it')
      const host = await tools.restarted()
      must((await host.get(request.id))?.state === 'Stopped', 'a restart of the host started it')
      await put(host, request)
      must((await read({ ...tools, host }, request.id)) === 'kept', 'it lost what was written')
      await gone({ ...tools, host }, request)
    },
  },
  {
    name: 'a port that another control plane has is refused',
    run: async (tools) => {
      const request = requestFor('port', tools)
      const { port } = await put(tools.host, request)
      const other = { ...requestFor('other', tools), port }
      const result = await tools.host.put(other)
      must(result.kind === 'Refused' && result.reason === 'EndpointTaken', `put returned ${result.kind}`)
      must((await tools.host.get(other.id)) === undefined, 'a refused control plane was made')
      await gone(tools, request)
    },
  },
  {
    name: 'a deletion by an earlier owner leaves the control plane alone',
    run: async (tools) => {
      const request = requestFor('owner', tools)
      await put(tools.host, request)
      const later = { ...request, owner: 'uid-later' }
      await put(tools.host, later)
      const result = await tools.host.delete(request.id, { owner: request.owner })
      must(result === 'Owned', `delete returned ${result}`)
      must((await using(tools, request.id, (c) => c.version())) !== undefined, 'it does not answer any more')
      await gone(tools, later)
    },
  },
  {
    name: 'another control plane of the same name starts empty after a deletion',
    run: async (tools) => {
      const request = requestFor('reused', tools)
      const first = await put(tools.host, request)
      await write(tools, request.id, 'old')
      await gone(tools, request)
      const second = await put(tools.host, { ...request, owner: 'uid-later' })
      must(second.ca !== first.ca, 'the authority of the deleted one is still in use')
      must((await read(tools, request.id)) === undefined, 'objects of the deleted one are still there')
      await gone(tools, { ...request, owner: 'uid-later' })
    },
  },
  {
    name: 'a control plane that never existed has nothing to stop, snapshot, restore or delete',
    run: async ({ host }) => {
      const id = 'conformance.never'
      must((await host.get(id)) === undefined, 'get finds it')
      must((await host.stop(id)) === 'Gone', 'stop does not return Gone')
      must((await host.snapshot(id, 'one')) === 'Gone', 'snapshot does not return Gone')
      must((await host.drop(id, ['one'])) === 'Gone', 'drop does not return Gone')
      must((await host.restore(id, { snapshot: 'one', token: 't' })) === 'Gone', 'restore does not return Gone')
      must((await host.delete(id, { owner: 'x' })) === 'Gone', 'delete does not return Gone')
      must((await host.kubeconfig(id, ADMIN)) === undefined, 'there is a kubeconfig of it')
    },
  },
]
