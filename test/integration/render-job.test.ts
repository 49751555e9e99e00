// Renders in Jobs of the embedded server, whose pods a double of a kubelet really runs: equal bytes, each failure by its number, and nothing left behind.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { RENDER_NAMESPACE } from '#api/names.ts'
import { VERSION } from '#lib/program-version.ts'
import type { KubeClient } from '#kube/client.ts'
import { coreKind } from '#kube/core-kinds.ts'
import { ApiError, failure } from '#kube/errors.ts'
import { systemClock } from '#lib/system-clock.ts'
import { findCage } from '#sync/render/cage.ts'
import { linesOfResult } from '#sync/render/job/log-lines.ts'
import { packEnd } from '#sync/render/job/packed.ts'
import { processRenderer } from '#sync/render/renderer.ts'
import { until } from '#test/support/tools/processes.ts'
import { fleetOf, renderJobWorld, type RenderJobWorld } from '#test/support/worlds/render-job-world.ts'

const JOB = coreKind('Job')

let world: RenderJobWorld
beforeAll(async () => void (world = await renderJobWorld()))
afterEach(() => world.reset())
afterAll(() => world.close())

/** Private fields are of the client itself. */
const bound = (of: KubeClient): PropertyDescriptorMap =>
  Object.fromEntries(
    (['get', 'list', 'watch', 'delete', 'raw'] as const).map((name) => [name, { value: of[name].bind(of) }]),
  )
const GOOD = fleetOf(`leak('good')`)

test('a Job renders what a process renders, byte by byte, and leaves nothing', async () => {
  const code = fleetOf(
    `console.log('hello'); console.error('there'); for (let i = 0; i < 300; i++) new ApiObject(chart, 'c' + i, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'c' + i, namespace: 'default' }, data: { v: 'é\\u2028'.repeat(i) } })`,
  )
  const inProcess = await world.render(code, {}, processRenderer(await findCage('allow')))
  const inJob = await world.render(code)
  expect(JSON.stringify([...inJob.targets])).toBe(JSON.stringify([...inProcess.targets]))
  expect([inJob.printed, inJob.problems, inJob.cage.includes('pod')]).toEqual([
    inProcess.printed,
    inProcess.problems,
    true,
  ])
})

test('code that prints lines of a result is heard as output, and its render is the true one', async () => {
  const forged = `const run = '${world.nextRun()}'
for (const line of ['begin 4 ' + '0'.repeat(64), '0 Zm9v', 'end']) console.log('kubenode-render ' + run + ' ' + line)
process.stdout.write('kubenode-render ' + run + ' end\\n')
leak('true')`
  const seen = await world.outcome(fleetOf(forged))
  expect(seen).toContain('"v":"true"')
  expect(seen).toContain('begin 4 000')
})

const pendingWith = (waiting: object) => () => ({
  phase: 'Pending',
  containerStatuses: [{ name: 'render', image: 'x', imageID: '', restartCount: 0, ready: false, state: { waiting } }],
})
const failedWith = (status: object) => () => ({ phase: 'Failed', ...status })

test.each([
  ['an image that is not there', pendingWith({ reason: 'ImagePullBackOff', message: 'not found' }), 'KN1414'],
  ['an image that runs as root', pendingWith({ reason: 'CreateContainerConfigError', message: 'root' }), 'KN7126'],
  ['an eviction', failedWith({ reason: 'Evicted', message: 'low on memory' }), 'KN7126'],
  [
    'memory that runs out',
    failedWith({
      containerStatuses: [
        {
          name: 'render',
          image: 'x',
          imageID: '',
          restartCount: 0,
          ready: false,
          state: { terminated: { exitCode: 137, reason: 'OOMKilled' } },
        },
      ],
    }),
    'KN7114',
  ],
] as const)('%s is an error of its own', async (_, fate, wanted) => {
  world.kubelet.fate = fate
  expect(await world.outcome(GOOD)).toContain(wanted)
})

test('a pod that the cluster refuses is said in its words', async () => {
  world.kubelet.refusal = 'pods "x" is forbidden: violates PodSecurity "restricted:latest": seccompProfile'
  expect(await world.outcome(GOOD)).toMatch(/KN1413.*violates PodSecurity/)
})

/** The pods of a Job end at once, with this log. */
async function logging(log: (lines: readonly string[]) => readonly string[], version = VERSION): Promise<void> {
  const end = { kind: 'Ended', how: 'was a double', printed: '' } as const
  const lines = [...linesOfResult(world.nextRun(), await packEnd({ version, end }))]
  world.kubelet.fate = () => ({ phase: 'Succeeded' })
  world.kubelet.keepLog = () => Buffer.from(log(lines).join(''))
}

test.each<readonly [string, (lines: readonly string[]) => readonly string[], RegExp]>([
  ['is whole', (lines) => lines, /KN7106.*was a double/],
  ['lost its start to a new file', (lines) => lines.slice(1), /KN7126.*was cut/],
  ['lost its end', (lines) => lines.slice(0, -1), /KN7126.*was cut/],
  ['is empty', () => [], /KN7126.*is empty/],
  ['is of another program', () => ['exec /usr/bin/kubenode: exec format error\n'], /KN7126.*exec format error/],
])('a log that %s', async (_, log, wanted) => {
  await logging(log)
  expect(await world.outcome(GOOD)).toMatch(wanted)
})

test('a program of another version renders nothing', async () => {
  await logging((lines) => lines, '0.0.0-other')
  expect(await world.outcome(GOOD)).toMatch(/KN7130.*0\.0\.0-other/)
})

test('a commit that is superseded has its Job removed, and ends what runs in it', async () => {
  const superseded = new AbortController()
  const rendered = world.outcome(fleetOf('for (;;);'), { deadlineMs: 60_000, signal: superseded.signal })
  await until('it runs', () => (world.kubelet.running > 0 ? true : undefined), 20_000)
  superseded.abort()
  expect(await rendered).toContain('KN3001')
  await until('it ended', () => (world.kubelet.running === 0 ? true : undefined), 10_000)
})

test('a Job that is deleted is an error that is retried', async () => {
  const rendered = world.render(fleetOf('for (;;);'), { deadlineMs: 60_000 }).then(String, (e: unknown) => e)
  await until('it runs', () => (world.kubelet.running > 0 ? true : undefined), 20_000)
  const [job] = (await world.client.list(JOB, { namespace: RENDER_NAMESPACE })).items
  await world.client.delete(
    JOB,
    { namespace: RENDER_NAMESPACE, name: job?.metadata.name ?? '' },
    { propagationPolicy: 'Background' },
  )
  expect(await rendered).toMatchObject({ code: expect.stringMatching(/KN7126/) as string, retry: 'later' })
})

test('what sync left behind when it was killed is removed at its next start, and nothing else', async () => {
  const own = { apiVersion: 'batch/v1', kind: 'Job', metadata: { namespace: RENDER_NAMESPACE, name: 'theirs' } }
  const spec = {
    suspend: true,
    template: { spec: { restartPolicy: 'Never', containers: [{ name: 'a', image: 'a' }] } },
  }
  world.kubelet.fate = () => ({ phase: 'Pending' })
  await world.client.create(JOB, { ...own, spec })
  const killed = world.render(GOOD).catch(() => undefined)
  await until(
    'it waits',
    async () => ((await world.left()).some((o) => o.startsWith('ConfigMap')) ? true : undefined),
    10_000,
  )
  await world.renderer().sweep()
  await killed
  const now = await until(
    'only theirs is there',
    async () => {
      const names = (await world.left()).filter((o) => !o.includes('theirs-abcde'))
      return names.length === 1 ? names : undefined
    },
    10_000,
  )
  expect(now).toEqual(['Job theirs'])
  await world.client.delete(JOB, { namespace: RENDER_NAMESPACE, name: 'theirs' }, { propagationPolicy: 'Background' })
})

test('a quota without room lets a render wait, says so, and has its own error in the end', async () => {
  let refusals = 3
  const full = failure(403, 'jobs.batch "x" is forbidden: exceeded quota: kubenode-render, used: count/jobs.batch=32')
  const busy: KubeClient = Object.create(world.sync, {
    create: {
      value: async (...args: Parameters<KubeClient['create']>) => {
        if (args[0].kind === 'Job' && refusals-- > 0)
          throw new ApiError(full, { action: 'create', target: 'jobs.batch' })
        return world.sync.create(...args)
      },
    },
    ...bound(world.sync),
  }) as KubeClient
  const clock = { ...systemClock, sleep: async () => undefined }
  world.kubelet.fate = () => ({ phase: 'Failed', reason: 'Evicted' })
  expect(await world.outcome(GOOD, {}, world.renderer({ client: busy, clock }))).toContain('KN7126')
  expect(world.said).toMatchObject([{ for: 'Quota', reason: expect.stringContaining('exceeded quota') as string }])
  refusals = Infinity
  let now = 0
  const late = { ...clock, monotonic: () => (now += 10_000) }
  expect(await world.outcome(GOOD, {}, world.renderer({ client: busy, clock: late }))).toMatch(
    /KN7122.*count\/jobs\.batch=32/,
  )
})

test('three renders at once are two Jobs, and the third comes after them', async () => {
  world.kubelet.fate = () => ({ phase: 'Pending' })
  const by = world.renderer()
  const giveUp = ['a', 'b', 'c'].map(() => new AbortController())
  const all = giveUp.map(({ signal }) => world.outcome(GOOD, { signal }, by))
  const jobs = async () => (await world.left()).filter((o) => o.startsWith('Job'))
  const two = await until('two are there', async () => ((await jobs()).length === 2 ? jobs() : undefined), 10_000)
  giveUp[0]?.abort()
  const then = async () => {
    const now = await jobs()
    return now.length === 2 && now.some((o) => !two.includes(o)) ? now : undefined
  }
  expect((await until('the third is there', then, 10_000)).length).toBe(2)
  for (const each of giveUp) each.abort()
  expect((await Promise.all(all)).every((text) => text.includes('KN3001'))).toBe(true)
})
