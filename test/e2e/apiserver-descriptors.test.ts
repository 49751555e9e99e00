// A server that may hold few descriptors: connections never take those that its files need.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { type Socket, connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { until } from '#test/support/tools/processes.ts'

const PROGRAM = join(import.meta.dirname, '../../bin/kubenode')
const WITHIN_MS = 200_000
const DESCRIPTORS = 300

let dir = ''
beforeEach(() => void (dir = mkdtempSync(join(tmpdir(), 'kubenode-descriptors-'))))
afterEach(() => rmSync(dir, { recursive: true, force: true }))

test('more connections than there are descriptors leave room for files', { timeout: WITHIN_MS }, async (context) => {
  context.skip(process.platform !== 'linux', 'needs /proc: it counts descriptors')
  const command = `ulimit -n ${DESCRIPTORS}; exec "$@"`
  const args = ['-c', command, 'sh', PROGRAM, 'apiserver', '--data', join(dir, 'data'), '--port', '0']
  const server = spawn('/bin/sh', args, { stdio: 'ignore' })
  const ended = once(server, 'exit')
  const sockets: Socket[] = []
  try {
    const file = join(dir, 'data/admin.kubeconfig')
    await until('a kubeconfig', () => existsSync(file) || undefined, WITHIN_MS)
    const port = Number(/server: https:\/\/[^:]+:(\d+)/.exec(readFileSync(file, 'utf8'))?.[1])
    let answered = 0
    for (let n = 0; n < 2 * DESCRIPTORS; n++) {
      const socket = connect(port, '127.0.0.1')
      socket.on('error', () => undefined)
      for (const event of ['connect', 'close']) socket.once(event, () => answered++)
      sockets.push(socket)
    }
    const held = () => readdirSync(`/proc/${server.pid}/fd`).length
    await until('all connections were answered', () => answered >= sockets.length || undefined, WITHIN_MS)
    // Those that never say who they are get half of the places at most.
    await until('connections are held', () => held() > DESCRIPTORS / 3 || undefined, WITHIN_MS)
    expect(held()).toBeLessThan(DESCRIPTORS - 50)
  } finally {
    for (const socket of sockets) socket.destroy()
    server.kill('SIGTERM')
    await ended
  }
})
