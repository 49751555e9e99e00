// Picks the kubeconfig of each role, or this pod's service account. Roles are separated by identity: sharing one is refused unless a user explicitly permits
// it.
import { programUser } from '#api/names.ts'
import { type Environment, isInPod } from '#kube/in-cluster.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { runErrors } from './run-errors.ts'
import { type Connection, connectionOf, podConnection } from './connect.ts'
import { ROLE_NAMES, type RoleName } from '../all.ts'

/** Undefined: this pod's service account. */
export type FilesByRole = ReadonlyMap<RoleName, string | undefined>

const shown = (file: string | undefined): string => file ?? 'the account of this pod'

interface Asked {
  readonly names: readonly RoleName[]
  /** As given: FILE, or ROLE=FILE. */
  readonly files: readonly string[]
  readonly mayShare: boolean
  readonly env: Environment
  /** Another root of the file system, in tests. */
  readonly root?: string
}

const ROLE_FILE = /^([a-z]+)=(.+)$/

/** A path may contain an equals sign, so split only after a role name. */
function readFile(text: string): { readonly role: RoleName | undefined; readonly file: string } {
  const [, before = '', file = ''] = ROLE_FILE.exec(text) ?? []
  const role = ROLE_NAMES.find((n) => n === before)
  return role === undefined ? { role, file: text } : { role, file }
}

/** Requires one file for each role that runs and refuses files of other roles. */
export function filesByRole({ names, files, mayShare, env }: Asked): FilesByRole {
  const read = files.map(readFile)
  const extra = read.find(({ role }) => role !== undefined && !names.includes(role))
  if (extra?.role !== undefined)
    throw new KubeNodeError(runErrors.KN1321({ role: extra.role, roles: names.join(', ') }))
  const twice = read.find(({ role }, n) => read.findIndex((r) => r.role === role) !== n)
  if (twice !== undefined)
    throw new KubeNodeError(runErrors.KN1321_two({ file: twice.file, role: twice.role ?? 'all roles' }))
  const plain = read.find(({ role }) => role === undefined)?.file
  // A role without its file must not silently run as the pod.
  const isPod = files.length === 0 && isInPod(env)
  if ((plain !== undefined || isPod) && names.length > 1 && !mayShare) throw shared(names, [plain])
  return new Map(
    names.map((name) => {
      const file = read.find(({ role }) => role === name)?.file ?? plain
      if (file === undefined && !isPod) throw new KubeNodeError(runErrors.KN1321_none({ role: name }))
      return [name, file]
    }),
  )
}

interface User {
  readonly name: RoleName
  readonly file: string | undefined
}
/** The role of each identity so far. */
export type Identities = Map<string, User>

/** `identities` holds those of the process's other clusters; this adds its own. */
export async function connectionsOf(
  asked: Asked & { readonly context: string | undefined },
  identities: Identities = new Map(),
): Promise<ReadonlyMap<RoleName, Connection>> {
  const files = filesByRole(asked)
  const connections = new Map<RoleName, Connection>()
  for (const [name, file] of files) {
    const connection =
      file === undefined ? podConnection(asked.env, asked.root) : await connectionOf(file, asked.context)
    const identity = identityText(connection)
    const other = identities.get(identity)
    if (other !== undefined && !asked.mayShare) throw shared([other.name, name], [other.file, file])
    identities.set(identity, { name, file })
    connections.set(name, connection)
  }
  return connections
}

/** How the server distinguishes identities: a copied file is the same identity. */
const identityText = ({ config }: Connection): string => {
  const { server: _server, ca: _ca, ...identity } = config
  return JSON.stringify(identity)
}

const shared = (names: readonly RoleName[], files: readonly (string | undefined)[]): KubeNodeError =>
  new KubeNodeError(
    runErrors.KN1320({
      roles: names.join(' and '),
      files: [...new Set(files.map(shown))].join(' and '),
      expected: names.map((n) => `${n}=<kubeconfig of ${programUser(n)}>`).join(' --kubeconfig '),
    }),
  )

export function connectionFor(connections: ReadonlyMap<RoleName, Connection>, name: RoleName): Connection {
  const connection = connections.get(name)
  if (connection === undefined) throw new Error('unreachable')
  return connection
}
