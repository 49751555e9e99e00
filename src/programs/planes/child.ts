// Starts this program again as a process for control planes, with a channel between the two, and implements both ends of it.
import { spawn } from 'node:child_process'
import type { FromProcess, ToProcess } from '#controlplanes/embedded/processes/messages.ts'
import { endingWithUs } from '#controlplanes/embedded/programs/running.ts'
import type { Child } from '#controlplanes/embedded/processes/plane-process.ts'
import type { Channel } from '#controlplanes/embedded/processes/serve-planes.ts'

/** Set for the host, whose parent holds its standard input. The control plane process has no standard input. */
const UNTIL_STDIN_ENDS = 'KUBENODE_UNTIL_STDIN_ENDS'

/** This program: the same file with the same flags of Node. */
export const thisProgram = (): readonly string[] => [process.execPath, ...process.execArgv, process.argv[1] ?? '']

export function spawnPlanes([node = '', ...program]: readonly string[], options: readonly string[] = []): Child {
  const { [UNTIL_STDIN_ENDS]: _, ...env } = process.env
  const [command = '', ...args] = endingWithUs(node, [...program, 'apiserver', '--plane-process', ...options])
  // Its output goes to the host's output.
  const child = spawn(command, args, { stdio: ['ignore', 'inherit', 'inherit', 'ipc'], env })
  // It may exit between two messages; the exit event reports that.
  child.on('error', () => undefined)
  return {
    send: (message) => void (child.connected && child.send(message, () => undefined)),
    kill: () => void child.kill('SIGKILL'),
    disconnect: () => {
      if (child.connected) child.disconnect()
    },
    listen: (onMessage) => void child.on('message', (message) => onMessage(message as FromProcess)),
    ended: new Promise((resolve) => {
      child.once('exit', (code, signal) => resolve(signal ?? `exit ${String(code)}`))
      child.once('error', (e) => resolve(e.message))
    }),
  }
}

export function channelToHost(): Channel {
  // The host stops its control planes in order, so ignore a signal sent to the whole group.
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => undefined)
  return {
    send: (message) => void (process.connected && process.send?.(message, undefined, undefined, () => undefined)),
    listen: (onMessage) => void process.on('message', (message) => onMessage(message as ToProcess)),
    closed: new Promise((resolve) => {
      if (process.connected) process.once('disconnect', () => resolve())
      else resolve()
    }),
  }
}
