// Preflight on this node: reads the facts, applies the pure rules, and refuses with the facts.
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { readManifest } from '../components/manifest.ts'
import type { Preflight } from '../components/stage.ts'
import type { Files } from '../files/port.ts'
import { onNode, slotFolder, type NodeDir } from '../node-dir.ts'
import { ATOMIC, type Elf } from '#lib/elf.ts'
import { pathsAsked, programRefusal, refusalBefore, type NodeFacts, type Room } from './preflight.ts'
import { readElf, readRoom } from './read.ts'
import { agentErrors } from '../agent-errors.ts'

/** How the host is read. */
export interface Ground {
  /** Undefined when it cannot be read. */
  room(path: string): Promise<Room | undefined>
  /** Undefined: it is no such program. */
  elf(path: string): Promise<Elf | undefined>
  /** Those of the paths that exist. */
  there(paths: readonly string[]): Promise<ReadonlySet<string>>
}

/** The loader may belong to this host even if the node is a folder on it. */
export const groundHere = (dir: NodeDir): Ground => ({
  room: readRoom,
  elf: readElf,
  there: async (paths) => new Set(paths.filter((p) => existsSync(onNode(dir, p)) || existsSync(p))),
})

export interface PreflightDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly facts: NodeFacts
  readonly ground: Ground
}

/** Limit of inspected programs; a tree may contain thousands. */
const MAX_PROGRAMS = 64

const refused = ({ component, version }: MachineComponentSpec, why: string, retry: 'never' | 'later') =>
  new KubeNodeError(agentErrors.KN8019({ component, version, why }), { retry })

export const preflightOnNode = ({ files, dir, facts, ground }: PreflightDeps): Preflight => ({
  async before(spec, artifactBytes) {
    const refusal = refusalBefore(spec, artifactBytes, facts, await ground.room(dir.state))
    if (refusal !== undefined) throw refused(spec, refusal.reason, refusal.mayPass ? 'later' : 'never')
  },
  async programs(spec, slot) {
    const manifest = await readManifest({ files, dir }, spec.component, slot)
    // Libraries that the host lacks come with the program.
    const own = new Set((manifest?.files ?? []).map((f) => basename(f.path)))
    const brings = (name: string): boolean => name === ATOMIC && own.has(name)
    const programs = (manifest?.files ?? []).filter((f) => (f.mode & 0o111) !== 0).slice(0, MAX_PROGRAMS)
    for (const { path } of programs) {
      const elf = await ground.elf(join(slotFolder(dir, spec.component, slot), path))
      if (elf === undefined) continue
      const there = await ground.there(pathsAsked(elf))
      const why = programRefusal(elf, facts, (p) => there.has(p) || brings(basename(p)))
      if (why !== undefined) throw refused(spec, `${path}: ${why}`, 'never')
    }
  },
})
