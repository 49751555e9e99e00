// A real agent does the steps of a repair job: evidence, a disk that is cleaned, a signed script; each once, under a permit that is for it.
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { AgentBench, eventually } from './agent-bench.ts'

const bench = new AgentBench()
const root = join(bench.nodeFolder, 'root')
const ran = join(bench.folder, 'ran')
const OLD = new Date(Date.now() - 30 * 86_400_000)

beforeAll(async () => {
  await bench.start()
  bench.writeJoin()
  bench.writeConfig({ metrics: false })
  mkdirSync(join(root, 'tmp'), { recursive: true })
  for (const name of ['old', 'young']) writeFileSync(join(root, 'tmp', name), name)
  utimesSync(join(root, 'tmp/old'), OLD, OLD)
  await bench.publish(
    release(bench.publisher, {
      component: 'mend',
      version: '1.0.0',
      entries: [{ name: 'mend', content: `#!/bin/sh\necho "$1" >> ${ran}; echo mended "$1"\n`, mode: 0o755 }],
      spec: { type: 'Script', script: { command: ['/opt/mend/mend'], timeout: '10s' } },
    }),
  )
  bench.run()
  await bench.order({ name: 'none', version: '0.0.1' })
  await eventually(
    'the node',
    () => bench.condition('Ready'),
    (c) => c !== undefined,
  )
})

afterAll(() => bench.stop())

const script = { runScript: { component: 'mend', version: '1.0.0', args: ['it; exit 9'] } }

const steps = async (job: string): Promise<readonly string[]> =>
  (await bench.steps(job)).map((s) => `${s.operation} ${s.outcome ?? 'is open'}`)

test('S21 evidence, a cleaned disk and a script, one after the other, each once', async () => {
  await bench.permit('all', 'RunScript', 'Granted')
  await bench.permit('clean', 'CleanDisk', 'Granted')
  const clean = { cleanDisk: { paths: ['/tmp'], olderThan: '168h', untilFree: 90 } }
  await bench.job('evidence', [{ collectEvidence: { kinds: ['Disks', 'Processes'] } }, script], 'all')
  await bench.job('clean', [clean], 'clean')
  await bench.listJobs(['evidence', 'clean'])
  const wanted = ['collectEvidence Succeeded', 'runScript Succeeded']
  await eventually(
    'the script',
    () => steps('evidence'),
    (s) => s.join() === wanted.join(),
  )
  expect((await bench.steps('evidence'))[1]?.output).toBe('mended it; exit 9\n')
  expect(readFileSync(ran, 'utf8')).toBe('it; exit 9\n')
  expect(readdirSync(join(bench.nodeFolder, 'state/evidence/evidence')).sort()).toEqual(['disks.txt', 'processes.txt'])
  // Whether enough became free depends on this machine's disk; what went does not.
  await eventually(
    'the disk',
    () => steps('clean'),
    (s) => s.length === 1 && s[0] !== 'cleanDisk is open',
  )
  const isSkipped = (await steps('clean'))[0] === 'cleanDisk Skipped'
  expect(['old', 'young'].map((n) => existsSync(join(root, 'tmp', n)))).toEqual([isSkipped, true])
})

test('S21 nothing is run under a permit for something else, nor while the node is frozen', async () => {
  rmSync(ran)
  await bench.permit('other', 'Reboot', 'Granted')
  await bench.permit('again', 'RunScript', 'Granted')
  await bench.job('wrong-permit', [script], 'other')
  writeFileSync(join(bench.nodeFolder, 'frozen'), '')
  await bench.job('off', [script], 'again')
  const asked = (path: string) => (): number => bench.server.requests.filter((r) => r.path.includes(path)).length
  await bench.listJobs(['off'])
  await eventually('a watch of the job', asked('name%3Doff'), (n) => n > 0)
  expect(await steps('off')).toEqual([])
  rmSync(join(bench.nodeFolder, 'frozen'))
  await bench.listJobs(['wrong-permit', 'off'])
  await eventually(
    'the job that was held back',
    () => steps('off'),
    (s) => s[0] === 'runScript Succeeded',
    30_000,
  )
  await eventually('a look at the permit', asked('operationpermits/other'), (n) => n > 0)
  expect([await steps('wrong-permit'), readFileSync(ran, 'utf8')]).toEqual([[], 'it; exit 9\n'])
})

test('S21 a script that nobody signed, or that was changed since, is not run, and its step fails', async () => {
  rmSync(ran, { force: true })
  const stranger = newPublisher()
  for (const [component, publisher] of [
    ['stray', stranger],
    ['bent', bench.publisher],
  ] as const) {
    const entries = [{ name: component, content: `#!/bin/sh\necho ${component} >> ${ran}\n`, mode: 0o755 }]
    const made = release(publisher, {
      component,
      version: '1.0.0',
      entries,
      spec: { type: 'Script', script: { command: [`/opt/${component}/${component}`], timeout: '10s' } },
    })
    const artifact =
      component === 'bent'
        ? Buffer.from(made.artifact.toString('latin1').replace('echo', 'exec'), 'latin1')
        : made.artifact
    await bench.publish({ ...made, artifact })
    await bench.permit(`for-${component}`, 'RunScript', 'Granted')
    await bench.job(component, [{ runScript: { component, version: '1.0.0' } }], `for-${component}`)
  }
  await bench.listJobs(['stray', 'bent'])
  for (const job of ['stray', 'bent'])
    await eventually(
      `the step of ${job}`,
      () => steps(job),
      (s) => s[0] === 'runScript Failed',
      60_000,
    )
  const outputs = await Promise.all(['stray', 'bent'].map(async (job) => (await bench.steps(job))[0]?.output ?? ''))
  expect(outputs).toEqual([expect.stringMatching(/sign|key/), expect.stringMatching(/sha256|digest|hash/i)])
  expect(existsSync(ran)).toBe(false)
})
