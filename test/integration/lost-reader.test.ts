// The exit codes of real commands: the verdict wins when the reader of a pipe leaves (`kubenode … | head`), what only shows changes then ends, and Ctrl-C is 130.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { machine } from '#api/kinds/machine.ts'
import { machineComponentSet } from '#api/kinds/machine-component-set.ts'
import { clientOf, connectionOf } from '#programs/run/connect.ts'
import type { HttpKubeClient } from '#kube/http/client.ts'
import type { KubeObject } from '#api/schema/object.ts'
import { startEmbedded, type RunningServer } from '#test/support/servers/api-servers.ts'
import { installAll } from '#test/support/servers/installed.ts'

const KUBENODE = join(import.meta.dirname, '../../bin/kubenode')
const WITHIN_MS = 120_000

let dir = ''
let server: RunningServer
let client: HttpKubeClient
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-reader-'))
  server = await startEmbedded()
  client = clientOf((await connectionOf(server.kubeconfig)).config, 'test')
  await installAll(client)
  await client.create<KubeObject>(machine, { ...machine.example, metadata: { name: 'm-1' } })
})
afterAll(async () => {
  client.close()
  await server.stop()
  rmSync(dir, { recursive: true, force: true })
})

const started = (argv: readonly string[]): ChildProcess =>
  spawn(KUBENODE, argv, {
    cwd: dir,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, KUBECONFIG: server.kubeconfig },
  })

async function codeOf(child: ChildProcess): Promise<{ readonly code: number | string | null; readonly err: string }> {
  let err = ''
  child.stderr?.on('data', (d: Buffer) => (err += d.toString()))
  const code = await new Promise<number | string | null>((done) =>
    child.once('close', (exit, signal) => done(exit ?? signal)),
  )
  return { code, err }
}

/** Resolves with the first bytes on standard output. */
const firstOutput = (child: ChildProcess): Promise<unknown> => new Promise((done) => child.stdout?.once('data', done))

describe('a reader that has left', () => {
  test.each([
    [['check'], 1],
    [['watch', '--until-done'], 0],
    [['get', 'machines'], 0],
    [['version'], 0],
  ] as const)('kubenode %j exits with %d as in a terminal', { timeout: WITHIN_MS }, async (argv, code) => {
    const read = started(argv)
    read.stdout?.resume()
    const unread = started(argv)
    unread.stdout?.destroy()
    const [usual, lost] = await Promise.all([codeOf(read), codeOf(unread)])
    expect([usual.code, lost.code]).toEqual([code, code])
    expect(lost.err).not.toMatch(/EPIPE|KN1005/)
  })

  test.each([[['get', 'machines', '-w']], [['watch']]])(
    'kubenode %j ends at the next change',
    { timeout: WITHIN_MS },
    async (argv) => {
      const child = started(argv)
      const ended = codeOf(child)
      await firstOutput(child)
      child.stdout?.destroy()
      const set = { apiVersion: 'kubenode.io/v1alpha1', kind: 'MachineComponentSet' }
      const end = { isSeen: false }
      void ended.then(() => (end.isSeen = true))
      for (let n = 0; !end.isSeen; n++) {
        const value = { metadata: { labels: { change: `${n}` } } }
        await client.patch(machine, { name: 'm-1' }, { type: 'merge', value })
        const { spec } = machineComponentSet.example
        await client.create<KubeObject>(machineComponentSet, {
          ...set,
          spec,
          metadata: { name: `${argv.length}-${n}` },
        })
        await new Promise((done) => setTimeout(done, 200))
      }
      expect((await ended).code).toBe(0)
    },
  )
})

test.each([[['get', 'machines', '-w']], [['watch']]])(
  'Ctrl-C ends kubenode %j with 130',
  { timeout: WITHIN_MS },
  async (argv) => {
    const child = started(argv)
    const ended = codeOf(child)
    await firstOutput(child)
    child.kill('SIGINT')
    expect((await ended).code).toBe(130)
  },
)
