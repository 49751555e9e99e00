// Preflight on this node: reads the facts, applies the pure rules, and refuses with the facts.
import { existsSync } from 'node:fs'
import { basename, join } from 'node:path'
import { KubeNodeError } from '#lib/errors.ts'
import type { MachineComponentSpec } from '#api/kinds/machine-component.ts'
import { readManifest } from '../components/manifest.ts'
import type { Preflight } from '../components/stage.ts'
import type { Files } from '../files/port.ts'
import { onNode, slotFolder, type NodeDir } from '../node-dir.ts'
import { ATOMIC } from '#lib/elf.ts'
import { programRefusal, refusalBefore, type NodeFacts } from './preflight.ts'
import { readElf, readRoom } from './read.ts'
import { agentErrors } from '../agent-errors.ts'

export interface PreflightDeps {
  readonly files: Files
  readonly dir: NodeDir
  readonly facts: NodeFacts
}

/** Limit of inspected programs; a tree may contain thousands. */
const MAX_PROGRAMS = 64

const refused = ({ component, version }: MachineComponentSpec, why: string, retry: 'never' | 'later') =>
  new KubeNodeError(agentErrors.KN8019({ component, version, why }), { retry })

export const preflightOnNode = ({ files, dir, facts }: PreflightDeps): Preflight => ({
  async before(spec, artifactBytes) {
    const refusal = refusalBefore(spec, artifactBytes, facts, await readRoom(dir.state))
    if (refusal !== undefined) throw refused(spec, refusal.reason, refusal.mayPass ? 'later' : 'never')
  },
  async programs(spec, slot) {
    const manifest = await readManifest({ files, dir }, spec.component, slot)
    // Libraries that the host lacks come with the program.
    const own = new Set((manifest?.files ?? []).map((f) => basename(f.path)))
    const brings = (name: string): boolean => name === ATOMIC && own.has(name)
    const programs = (manifest?.files ?? []).filter((f) => (f.mode & 0o111) !== 0).slice(0, MAX_PROGRAMS)
    for (const { path } of programs) {
      const elf = await readElf(join(slotFolder(dir, spec.component, slot), path))
      // The loader may belong to the host even if the node is a folder on it.
      const hasFile = (p: string): boolean => existsSync(onNode(dir, p)) || existsSync(p) || brings(basename(p))
      const why = elf === undefined ? undefined : programRefusal(elf, facts, hasFile)
      if (why !== undefined) throw refused(spec, `${path}: ${why}`, 'never')
    }
  },
})
