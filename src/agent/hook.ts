// Runs a component's hook: a program with arguments, no shell, with a time limit. One that not even a kill ends is left behind, so that the other components
// continue.
import { existsSync } from 'node:fs'
import { defined } from '#lib/defined.ts'
import { KubeNodeError } from '#lib/errors.ts'
import { onNode, type NodeDir } from './node-dir.ts'
import { agentErrors } from './agent-errors.ts'
import type { HungHooks } from './hung-hooks.ts'
import { programOutput, type ProgramCall } from './program-output.ts'

const KEPT_BYTES = 4_096
/** A package manager prints a few hundred kilobytes; a program that prints more than this never stops. */
export const FLOOD_BYTES = 16 * 2 ** 20
const SHOWN = 120

/** A killed program that does not end by then hangs in the kernel: in a write to a broken disk, or on a network file system. */
const LEFT_AFTER_MS = 5_000

export interface HookDeps extends Pick<ProgramCall, 'kill' | 'leftAfterMs'> {
  readonly dir: NodeDir
  readonly environment: Readonly<Record<string, string>>
  readonly hung: HungHooks
}

/** A hung hook is the fault of the host: the version may be tried again once it has ended. */
const ON_HOST = { data: { reason: 'HostUnsuitable' } }

export const runHook =
  ({ dir, environment, hung, kill, leftAfterMs = LEFT_AFTER_MS }: HookDeps) =>
  async (command: readonly string[], timeoutMs: number, component: string): Promise<void> => {
    const earlier = hung.pidOf(component)
    if (earlier !== undefined)
      throw new KubeNodeError(agentErrors.KN8033_left({ component, pid: String(earlier) }), ON_HOST)
    const [program = '', ...args] = command
    const own = onNode(dir, program)
    const { problem, stdout, stderr, left } = await programOutput({
      program: existsSync(own) ? own : program,
      args,
      timeoutMs,
      maxBytes: KEPT_BYTES,
      floodBytes: FLOOD_BYTES,
      environment,
      folder: dir.root,
      leftAfterMs,
      ...defined({ kill }),
    })
    if (problem === undefined) return
    const [first] = left
    if (first !== undefined) {
      hung.note(component, left)
      throw new KubeNodeError(agentErrors.KN8033_hung({ program, why: problem, pid: String(first.pid) }), ON_HOST)
    }
    const last = `${stdout.text}${stderr.text}`.trim().slice(-SHOWN)
    throw new KubeNodeError(agentErrors.KN8033({ program, why: problem, output: last }))
  }
