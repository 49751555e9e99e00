// Pure: whether a version can be installed on this node at all. Checked before anything is fetched, and again after its programs are in place.
import { parseVersion } from '#lib/semver.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { type Platform, platformRefusal } from '#nodes/placement/node-needs.ts'
import { ATOMIC, isAfter, type Elf } from '#lib/elf.ts'
import { pairOf, type System } from './floor.ts'

export interface NodeFacts extends System, Pick<Platform, 'distribution' | 'bootArguments'> {
  readonly arch: string
  readonly cgroup: 'V1' | 'V2' | undefined
}

export interface Room {
  readonly freeBytes: number
  /** Undefined where the file system has no fixed number of inodes. */
  readonly freeInodes: number | undefined
}

export interface Refusal {
  readonly reason: string
  /** Disk space can be freed and a server upgraded; an architecture never changes. */
  readonly mayPass: boolean
}

/** Room for the archive, its content, and temporarily a second copy. */
const ROOM_TIMES = 4
/** Left for all other programs; the kubelet starts to evict at a share of this size. */
const ROOM_LEFT = 256 * 2 ** 20
const INODES_LEFT = 2_000

export function refusalBefore(
  spec: MachineComponentSpec,
  artifactBytes: number,
  node: NodeFacts,
  room: Room | undefined,
): Refusal | undefined {
  const { cgroup } = spec.needs ?? {}
  if (cgroup !== undefined && node.cgroup !== cgroup)
    return { reason: `requires control groups ${cgroup}, the node has ${node.cgroup ?? 'none'}`, mayPass: false }
  const refusal = platformRefusal(spec, node)
  if (refusal !== undefined) return { reason: refusal, mayPass: false }
  const wanted = artifactBytes * ROOM_TIMES + ROOM_LEFT
  if (room !== undefined && room.freeBytes < wanted)
    return {
      reason: `requires ${mib(wanted)} MiB of free disk, the node has ${mib(room.freeBytes)} MiB`,
      mayPass: true,
    }
  if (room?.freeInodes !== undefined && room.freeInodes < INODES_LEFT)
    return { reason: `the file system has ${room.freeInodes} free inodes`, mayPass: true }
  return undefined
}

const mib = (bytes: number): number => Math.ceil(bytes / 2 ** 20)

/** Where loaders search; Debian has a folder for each architecture. */
const ATOMIC_FOLDERS = ['', '/usr'].flatMap((top) =>
  ['lib', 'lib64', 'lib/x86_64-linux-gnu', 'lib/aarch64-linux-gnu'].map((folder) => `${top}/${folder}`),
)

/** Paths that `programRefusal` asks for. */
export const pathsAsked = ({ loader, isAtomic }: Elf): readonly string[] => [
  ...(loader === undefined ? [] : [loader]),
  ...(isAtomic ? ATOMIC_FOLDERS.map((folder) => `${folder}/${ATOMIC}`) : []),
]

/** `hasFile`: whether the node has this path. */
export function programRefusal(elf: Elf, node: NodeFacts, hasFile: (path: string) => boolean): string | undefined {
  if (elf.arch !== node.arch) return `built for ${elf.arch ?? 'another processor'}, the node is ${node.arch}`
  if (elf.loader !== undefined && !hasFile(elf.loader))
    return `requires the loader ${elf.loader} of another C library, which the node does not have`
  const have = node.glibc === undefined ? undefined : pairOf(node.glibc)
  if (elf.glibc !== undefined && have !== undefined && isAfter(elf.glibc, have))
    return `requires glibc ${elf.glibc.join('.')}, the node has ${node.glibc}`
  if (elf.isAtomic && !ATOMIC_FOLDERS.some((folder) => hasFile(`${folder}/${ATOMIC}`)))
    return `requires ${ATOMIC}, which the node does not have; install libatomic1 (Debian, Ubuntu) or libatomic (RHEL, Fedora)`
  return undefined
}

/** `server`: the version of the API server. Undefined when it cannot be read, which never allows a switch. */
export function skewRefusal(spec: MachineComponentSpec, server: string | undefined): string | undefined {
  if (spec.skew === undefined) return undefined
  const [own, theirs] = [parseVersion(spec.version), server === undefined ? undefined : parseVersion(server)]
  if (own === undefined) return `${spec.version} cannot be compared with the version of the API server`
  if (theirs === undefined) return 'waiting for the version of the API server, which cannot be read'
  const { maxAheadOfApiServer, maxBehindApiServer } = spec.skew
  const ahead = own.numbers[0] === theirs.numbers[0] ? own.numbers[1] - theirs.numbers[1] : Number.NaN
  if (ahead <= maxAheadOfApiServer && -ahead <= maxBehindApiServer) return undefined
  return `waiting for an API server that supports ${spec.version}; it is ${server}`
}
