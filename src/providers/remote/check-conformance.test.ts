import { chmod, mkdtemp, rm } from 'node:fs/promises'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '#lib/system-clock.ts'
import { silentLogger } from '#lib/log.ts'
import { afterEach, expect, test } from 'vitest'
import type { Io } from '#lib/terminal/io.ts'
import { runConformance } from './check-conformance.ts'

const CAPABILITIES = {
  protocol: 'kubenode-provider/v1',
  name: 'own',
  can: [],
  capabilities: { isHostKept: false, visibleWithinMs: 0, markets: ['OnDemand'] },
}

let stop: () => Promise<unknown> = async () => undefined
afterEach(() => stop())

/** The kit's output for a program that answers every call except the first with this; undefined: it drops the connection. */
async function saidAbout(answer: object | undefined): Promise<readonly string[]> {
  const dir = await mkdtemp(join(tmpdir(), 'kit-'))
  const path = join(dir, 's')
  const server: Server = createServer((request, response) => {
    const said = request.url === '/v1/capabilities' ? CAPABILITIES : answer
    if (said === undefined) request.socket.destroy()
    else response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(said))
  })
  await new Promise<void>((resolve) => server.listen(path, resolve))
  await chmod(path, 0o600)
  stop = async () => {
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
    await rm(dir, { recursive: true, force: true })
  }
  let text = ''
  const io = { out: (line: string) => void (text += `${line}\n`) } as unknown as Io
  const run = { place: { kind: 'Socket', path }, params: {}, withinMs: 5_000, isJson: false } as const
  await expect(runConformance({ ...run, clock: systemClock, log: silentLogger }, io)).rejects.toThrow()
  return text.split('\n').filter((line) => line !== '')
}

test('one mistake that fails many cases is explained once, without what controllers do about it', async () => {
  const lines = await saidAbout({ kind: 'Host', rack: 'r-1' })
  const failed = lines.filter((line) => line.startsWith('FAILED'))
  expect(failed.length).toBeGreaterThan(5)
  expect(failed[0]).toMatch(/^FAILED {2}get and list return the created host: KN11061: .* rack is not a known field/)
  expect(failed[1]).toBe('FAILED  every read shows every host, however often it is repeated: same reason as above')
  expect(lines.join('\n')).not.toContain('retried automatically')
})

test('a program that does not answer is not asked by the cases that follow, each of which would wait as long', async () => {
  const [, first, ...others] = await saidAbout(undefined)
  const last = others.pop()
  expect(first).toMatch(/^FAILED {2}get and list return the created host: KN11060: /)
  expect(others.length).toBeGreaterThan(10)
  for (const line of others) expect(line).toMatch(/^skipped .*: the provider does not answer$/)
  expect(last).toMatch(/^0 passed, 1 failed, \d+ skipped$/)
})
