// Sync as a program of its own over a hub: what a kill leaves behind is what a kill of the real program leaves behind, and all it prints is kept.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { LEAN_MALLOC } from '#lib/lean-malloc.ts'
import type { SyncBench } from './sync-bench.ts'
import { programFile } from '#test/support/tools/own-build.ts'

/** As a kubelet does: on a busy machine a leader may lose its Lease, and ends then. */
const AGAIN_MS = 1_000

/** Begins a line of the bench among those of the program. */
export const RESTARTED = 'sync ended by itself'

export interface SyncProgram {
  /** Where it keeps copies of repositories, and its temporary files. */
  readonly folder: string
  readonly pid: () => number
  /** Everything that it printed so far, of each run. */
  readonly printed: () => string
  readonly start: () => void
  /** Ends it at once; nothing of it runs when this returns. */
  readonly kill: () => Promise<void>
  /** Lets it end what it does. */
  readonly stop: () => Promise<void>
  readonly close: () => Promise<void>
}

interface Hub {
  /** Its administrator's. */
  readonly kubeconfig: string
  /** The folder of the repository that sync may read on this machine. */
  readonly repository: string
}

/** `more`: further options of `kubenode run`. */
export const syncProgram = ({ hub, repository }: SyncBench, more: readonly string[] = []): SyncProgram =>
  syncProgramAt({ kubeconfig: hub.server.adminKubeconfig(), repository: repository.dir }, more)

export function syncProgramAt(hub: Hub, more: readonly string[] = []): SyncProgram {
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-sync-'))
  const [kubeconfig, temporary] = [join(folder, 'hub.kubeconfig'), join(folder, 'tmp')]
  writeFileSync(kubeconfig, hub.kubeconfig, { mode: 0o600 })
  mkdirSync(temporary, { mode: 0o700 })
  const sync = ['run', '--roles', 'sync', '--kubeconfig', kubeconfig, '--cluster', 'hub', '--weak-cage', 'allow']
  const kept = ['--cache', join(folder, 'git'), '--local-repository', hub.repository, '--log-level', 'debug']
  let child: ChildProcess | undefined
  let again: NodeJS.Timeout | undefined
  let printed = ''
  const start = () => {
    // As bin/kubenode and its pod start it.
    const started = spawn(
      process.execPath,
      ['--max-semi-space-size=8', programFile('main'), ...sync, ...kept, ...more],
      {
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: process.env['PATH'] ?? '', HOME: temporary, TMPDIR: temporary, ...LEAN_MALLOC },
      },
    )
    child = started
    for (const stream of [started.stdout, started.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (printed += text))
    started.once('exit', (code, signal) => {
      if (child !== started) return
      printed += `${RESTARTED} (${signal ?? code}) and is started again\n`
      again = setTimeout(start, AGAIN_MS)
    })
  }
  const end = async (signal: 'SIGKILL' | 'SIGTERM') => {
    clearTimeout(again)
    const running = child
    child = undefined
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return
    const ended = once(running, 'exit')
    running.kill(signal)
    await ended
  }
  return {
    folder,
    pid: () => child?.pid ?? 0,
    printed: () => printed,
    start,
    kill: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    close: async () => {
      await end('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
