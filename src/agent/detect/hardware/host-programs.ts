// Programs of vendors that detectors ask: found in the folders of the system, with a time limit, and one at a time for each question.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { programOutput } from '../../program-output.ts'

const MOST_OUTPUT = 1_048_576

/** `root`: of the node. One that is a folder asks only the programs in it. */
export const programOf = (root: string, name: string): string | undefined =>
  ['/usr/sbin', '/sbin', '/usr/bin'].map((folder) => join(root, folder, name)).find((path) => existsSync(path))

/** Empty: no answer in time. */
export async function outputOf(program: string, args: readonly string[], timeoutMs: number): Promise<string> {
  const environment = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin', LANG: 'C', TZ: 'UTC' }
  const call = { program, args, timeoutMs, maxBytes: MOST_OUTPUT, floodBytes: MOST_OUTPUT, environment }
  const name = `${program} ${args.join(' ')}`
  // Still running, stuck in the kernel: another one would be too.
  if (RUNNING.has(name)) return ''
  RUNNING.add(name)
  const output = programOutput(call).finally(() => RUNNING.delete(name))
  // What is killed in the kernel does not end.
  return (await endsWithin(output, timeoutMs + KILL_GRACE_MS)) ? (await output).stdout.text : ''
}

export async function endsWithin(work: Promise<unknown>, ms: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => late.resolve(false), ms)
  return Promise.race([work.then(() => true), late.promise]).finally(() => clearTimeout(timer))
}

const KILL_GRACE_MS = 2_000
const RUNNING = new Set<string>()

const IPMI_DEVICES = ['dev/ipmi0', 'dev/ipmi/0', 'dev/ipmidev/0']

/** The program that asks the host's management controller; undefined without one. */
export const controllerProgram = (root: string): string | undefined =>
  IPMI_DEVICES.some((device) => existsSync(join(root, device))) ? programOf(root, 'ipmitool') : undefined
