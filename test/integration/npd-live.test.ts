// A real node-problem-detector and our agent follow the same log by the same rules: messages of its corpus in any order, also cut and with more around them.
// At the end both have counted the same.
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loopbackAddress } from '#agent/node/address.ts'
import { isObject } from '#lib/json.ts'
import { seededRandom, type Random } from '#lib/random.ts'
import { NO_NPD, isNpdPresent, npdJson, npdText } from '../contract/npd-corpus.ts'
import { npdProgram, problemMetrics, startNpd, syslogLine } from '#test/support/fleets/npd-program.ts'
import { AgentBench, MACHINE, eventually } from './agent-bench.ts'
import { inFull } from '#test/support/tools/full.ts'
import { testSeed } from '#test/support/tools/seed.ts'
import { freePort } from '#test/support/servers/free-port.ts'

const program = npdProgram(process.env)
const seeds = Array.from({ length: inFull(20, 1) }, (_, n) => testSeed + n)
const LINES = 3_000

const object = (v: unknown): Readonly<Record<string, unknown>> => (isObject(v) ? v : {})

function damaged(message: string, random: Random): string {
  const kind = random.next()
  if (kind < 0.1) return message.slice(0, Math.floor(random.next() * message.length))
  if (kind < 0.2) return `${message} `
  return kind < 0.3 ? `x${message}` : message
}

test.for(seeds)('the same lines are counted alike (seed %i)', async (seed, context) => {
  if (program === undefined)
    return context.skip('there is no node-problem-detector here; KUBENODE_NPD_PROGRAM names one')
  if (!isNpdPresent) return context.skip(NO_NPD)
  const { conditions, rules, source } = object(npdJson('config/kernel-monitor.json'))
  const monitor = { ...object(npdJson('config/kernel-monitor-filelog.json')), conditions, rules, source }
  const folder = mkdtempSync(join(tmpdir(), 'kubenode-npd-live-'))
  const bench = new AgentBench()
  const theirs = await startNpd(program, folder, monitor)
  try {
    await bench.start()
    bench.writeJoin()
    const logs = join(bench.nodeFolder, 'root/var/log')
    mkdirSync(logs, { recursive: true })
    const log = join(logs, 'kern.log')
    writeFileSync(log, '')
    const port = await freePort()
    bench.writeConfig({ monitors: [{ config: { ...monitor, logPath: '/var/log/kern.log' } }] })
    bench.writeHostConfig({ metrics: { port } })
    bench.run()
    await eventually(
      'the node',
      () => bench.condition('KernelDeadlock'),
      (c) => c !== undefined,
    )
    const metrics = `http://${loopbackAddress(bench.cluster, MACHINE)}:${port}/metrics`
    const read = () => problemMetrics(theirs.metrics).catch(() => undefined)
    await eventually('the other detector', read, (m) => m !== undefined)

    const random = seededRandom(seed)
    const corpus = npdText('recorded/kernel-messages.txt').trimEnd().split('\n')
    const lines = Array.from({ length: LINES }, (_, n) => {
      const message = corpus[Math.floor(random.next() * corpus.length)] ?? ''
      return syslogLine(damaged(message, random), n)
    }).join('')
    for (const path of [theirs.log, log]) appendFileSync(path, lines)
    const known = 'a line that ends the story: task over:1 blocked for more than 1 seconds.'
    const counted = async (): Promise<readonly (readonly string[])[]> => [
      await problemMetrics(theirs.metrics),
      await problemMetrics(metrics),
    ]
    // Both are done once the last line is counted, which changes only the count of its reason.
    const last = await settled(counted)
    for (const path of [theirs.log, log]) appendFileSync(path, syslogLine(known, LINES))
    const [their, our] = await eventually('the last line', counted, (now) =>
      now.every((m, n) => m.join() !== last[n]?.join()),
    )
    expect(our).toEqual(their)
    expect(their?.length).toBeGreaterThan(10)
  } finally {
    theirs.child.kill('SIGKILL')
    await bench.stop()
    rmSync(folder, { recursive: true, force: true })
  }
  return undefined
})

/** What is counted when it stays the same over some looks. */
async function settled<T>(read: () => Promise<T>): Promise<T> {
  let [last, since]: [T, number] = [await read(), 0]
  return eventually(
    'an end of counting',
    async () => {
      const now = await read()
      since = JSON.stringify(now) === JSON.stringify(last) ? since + 1 : 0
      last = now
      return now
    },
    () => since >= 20,
    30_000,
  )
}
