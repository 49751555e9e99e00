// Runs a component's hook: a program with arguments, no shell, with a time limit.
import { existsSync } from 'node:fs'
import { KubeNodeError } from '#lib/errors.ts'
import { onNode, type NodeDir } from './node-dir.ts'
import { agentErrors } from './agent-errors.ts'
import { programOutput } from './program-output.ts'

const KEPT_BYTES = 4_096
/** A package manager prints a few hundred kilobytes; a program that prints more than this never stops. */
export const FLOOD_BYTES = 16 * 2 ** 20
const SHOWN = 120

export const runHook =
  (dir: NodeDir, environment: Readonly<Record<string, string>>) =>
  async (command: readonly string[], timeoutMs: number): Promise<void> => {
    const [program = '', ...args] = command
    const own = onNode(dir, program)
    const { problem, stdout, stderr } = await programOutput({
      program: existsSync(own) ? own : program,
      args,
      timeoutMs,
      maxBytes: KEPT_BYTES,
      floodBytes: FLOOD_BYTES,
      environment,
      folder: dir.root,
    })
    if (problem === undefined) return
    const last = `${stdout.text}${stderr.text}`.trim().slice(-SHOWN)
    throw new KubeNodeError(agentErrors.KN8033({ program, why: problem, output: last }))
  }
