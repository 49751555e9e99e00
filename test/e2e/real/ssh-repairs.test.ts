// Repairs of a real systemd machine without an agent: a signed script, a component installed again, a reboot. Controllers that lose their lease in the middle of a
// script, journals that a disk lost, and a freeze: nothing runs twice, nothing runs beside another session, and nothing on the host is readable for others.
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { ReadPool } from '#agent/files/read-pool.ts'
import { newHostPast } from '#agent/over-ssh/visit-parts.ts'
import { visit, visitSession } from '#agent/over-ssh/visit.ts'
import { machineComponent } from '#api/kinds/machine-component.ts'
import type { ComponentStatus, Machine } from '#api/kinds/machine.ts'
import { DISRUPTIONS, operationPermit } from '#api/kinds/operation-permit.ts'
import { type RemedyOperationJob, remedyOperationJob } from '#api/kinds/remedy-operation-job.ts'
import type { KubeObject } from '#api/schema/object.ts'
import type { KubeClient } from '#kube/client.ts'
import { silentLogger } from '#lib/log.ts'
import { systemRandom } from '#lib/random.ts'
import { messageOf } from '#lib/errors.ts'
import { systemClock } from '#lib/system-clock.ts'
import { SshSessions } from '#ssh/ssh-sessions.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { freePort } from '#test/support/servers/free-port.ts'
import { until } from '#test/support/tools/processes.ts'
import { noMachines } from '../agent-host/machine.ts'
import { ADMIN, type SshHost, startSshHost } from './ssh-host.ts'

const UID = '0f6d9f3e-5a3a-4f0a-9f1f-6a8f4f0c7a11'
const STATE = '/var/lib/kubenode/state'
const FROZEN = '/var/lib/kubenode/frozen'
const RUNS = '/var/lib/mend-runs'
/** Rounds of a loaded machine take a minute. */
const PATIENCE_MS = 300_000
const publisher = newPublisher()
const script = (component: string, program: string) =>
  release(publisher, {
    component,
    version: '1.0.0',
    entries: [{ name: component, content: `#!/bin/sh\n${program}\n`, mode: 0o755 }],
    spec: { type: 'Script', script: { command: [`/opt/${component}/${component}`, 'an argument'], timeout: '10m' } },
  })
const releases = [
  release(publisher, {
    version: '1.0.0',
    entries: [{ name: 'bin/beacon', content: '#!/bin/sh\nexec sleep 1000000\n', mode: 0o755 }],
    spec: {
      files: [{ path: '/etc/beacon.conf', mode: '0600', format: 'plain', template: 'secret\n', onChange: 'Restart' }],
      service: { exec: '/opt/beacon/bin/beacon', restart: 'Always' },
      probes: [
        { name: 'unit', unit: { name: 'kubenode-beacon.service' }, interval: '1s', timeout: '5s', settle: '1s' },
      ],
    },
  }),
  script('mend', `echo run >> ${RUNS}; echo "mended $1 as $(id -u)"`),
  script('slow', `echo run >> ${RUNS}; sleep 500; echo ended >> ${RUNS}`),
]
const permit = {
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'OperationPermit',
  metadata: { name: 'p' },
  spec: { operations: DISRUPTIONS, targets: [{ kind: 'Machine', name: 'm', uid: UID }] },
  status: { phase: 'Granted', verdicts: [{ target: UID, verdict: 'Granted' }] },
}
const node = { metadata: { name: 'm', uid: 'n-uid' }, spec: {} }
let job: RemedyOperationJob | undefined
const client = {
  get: async (type: { readonly kind: string }, { name }: { readonly name: string }) => {
    if (type.kind === machineComponent.kind) return releases.find((r) => r.object.metadata.name === name)?.object
    if (type.kind === remedyOperationJob.kind) return job
    return type.kind === operationPermit.kind ? permit : node
  },
  apply: async (type: { readonly kind: string }, object: KubeObject) => {
    if (type.kind === remedyOperationJob.kind && job !== undefined)
      job = { ...job, status: { ...job.status, ...(object['status'] as RemedyOperationJob['status']) } }
    return object
  },
} as unknown as KubeClient
const fetcher = {
  async *open(place: string, _most: number, _signal: AbortSignal, from = 0) {
    const found = releases.find((r) => r.url === place)?.artifact
    if (found === undefined) throw new Error('nothing is there')
    yield found.subarray(from)
  },
}

let why = noMachines()
let host: SshHost
let sessions: SshSessions
const folder = mkdtempSync('/var/tmp/kn-ssh-repairs-')
const keyFile = join(folder, 'key')

beforeAll(async () => {
  if (why !== undefined) return
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', keyFile])
  const key = readFileSync(`${keyFile}.pub`, 'utf8').trim()
  const started = await startSshHost({ name: 'repaired', port: await freePort(), client: key, isRootOff: true })
  if (started === undefined) why = 'Debian’s packages cannot be fetched'
  else host = started
  sessions = new SshSessions({ folder: join(folder, 'keys'), path: process.env['PATH'] ?? '', atOnce: 3 })
}, 900_000)

afterAll(async () => {
  await host?.machine.remove()
  rmSync(folder, { recursive: true, force: true })
})

beforeEach((context) => {
  if (why !== undefined) context.skip(why)
})

let jobs = 0
function ordered(...operations: RemedyOperationJob['spec']['operations']): void {
  const name = `j-${++jobs}`
  job = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'RemedyOperationJob',
    metadata: { name, uid: `uid-${name}` },
    spec: { machine: 'm', node: { name: 'm', uid: 'n-uid' }, operations, timeout: '10m', dryRun: false },
    status: { phase: 'Running', permitRef: 'p', steps: [] },
  } as unknown as RemedyOperationJob
}

let generation = 1
const machineNow = (): Machine => ({
  apiVersion: 'kubenode.io/v1alpha1',
  kind: 'Machine',
  metadata: { name: 'm', uid: UID, generation: generation++ },
  spec: {
    channel: 'SSH',
    components: [{ name: 'beacon', version: '1.0.0', attempt: 1, switch: { attempt: 1, permit: 'p' } }],
    jobs: job === undefined ? [] : [job.metadata.name ?? ''],
  },
})

/** A round, by a process of the controllers that may lose its lease. */
async function round(signal = new AbortController().signal): Promise<ComponentStatus | undefined> {
  const reports: KubeObject[] = []
  const machine = machineNow()
  const trust = { kind: 'Pinned', hostKey: host.hostKey } as const
  const result = await sessions.converse(
    visitSession({
      target: { host: '127.0.0.1', port: host.port, user: ADMIN, trust },
      identity: { kind: 'Key', privateKey: readFileSync(keyFile, 'utf8') },
      sudo: true,
    }),
    async (channel) => {
      await visit({
        channel,
        machine: () => machine,
        client,
        clock: systemClock,
        random: systemRandom,
        log: silentLogger,
        version: '1.0.0',
        trust: { anchor: publisher.anchor, document: publisher.trust() },
        trustUrl: 'trust.json',
        fetcher,
        past: newHostPast(),
        serverVersion: async () => undefined,
        leaseRenewal: async () => ({ kind: 'Unknown' }),
        beat: async () => undefined,
        beatEveryMs: 30_000,
        report: async (object) => void reports.push(object),
        reads: new ReadPool(),
        signal,
      })
      return { kind: 'Visited' as const }
    },
    signal,
  )
  if (result.kind === 'Failed') throw new Error(result.why)
  const status = reports.at(-1)?.['status'] as Machine['status']
  return status?.components?.find((c) => c.name === 'beacon')
}

/** The next round of the controllers. A session that was cut holds the host until the snippet that it was at has ended, on a loaded machine not at once. */
async function roundOnceFree(): Promise<ComponentStatus | undefined> {
  const end = performance.now() + PATIENCE_MS
  for (;;) {
    try {
      return await round()
    } catch (e) {
      if (!messageOf(e).includes('another session works') || performance.now() > end) throw e
    }
  }
}

const onHost = (line: string): string => host.machine.run('sh', '-c', line).out
const runs = (): readonly string[] => onHost(`cat ${RUNS} 2>/dev/null`).split('\n').filter(Boolean)
const pid = (): string => onHost('systemctl show -p MainPID --value kubenode-beacon')
const lastStep = () => job?.status?.steps?.at(-1)
const isRunning = (component: string): boolean =>
  host.machine.run('pgrep', '-f', `/${component} an argument`).code === 0
const begins = (component: string): Promise<unknown> =>
  until(`${component} runs`, () => isRunning(component), PATIENCE_MS)
const SLOW = { runScript: { component: 'slow', version: '1.0.0' } } as const

test(
  'a signed script runs once as root, a component is installed again, and the step says how it ended',
  async () => {
    expect(await round()).toMatchObject({ state: 'Healthy', version: '1.0.0' })
    ordered({ runScript: { component: 'mend', version: '1.0.0' } })
    await round()
    expect(lastStep()).toMatchObject({
      outcome: 'Succeeded',
      output: expect.stringContaining('mended an argument as 0'),
    })
    expect(runs()).toEqual(['run'])
    await round()
    expect(runs()).toEqual(['run'])
    expect(onHost(`ls ${STATE}/scripts/runs`)).toBe('')
    onHost('echo broken > /opt/beacon/bin/beacon')
    ordered({ reinstallComponent: { component: 'beacon' } })
    await round()
    expect(lastStep()).toMatchObject({ operation: 'reinstallComponent', outcome: 'Succeeded' })
    expect(onHost('cat /opt/beacon/bin/beacon')).toContain('exec sleep')
  },
  3 * PATIENCE_MS,
)

test('nothing that was written on the host is readable for others, except for what a component gives them', () => {
  expect(onHost('stat -L -c %a /etc/beacon.conf')).toBe('600\n')
  expect(onHost(`find ${STATE} -type f -perm /077 ! -path '*/slots/*' ! -path '*/store/*'`)).toBe('')
})

test(
  'a file that freezes the node ends a script that runs',
  async () => {
    const before = runs().length
    ordered(SLOW)
    const visiting = round()
    await begins('slow')
    onHost(`echo hands off > ${FROZEN}`)
    await visiting
    expect(lastStep()).toMatchObject({ outcome: 'Failed', output: expect.stringContaining('the node was frozen') })
    expect(runs().slice(before)).toEqual(['run'])
    expect(isRunning('slow')).toBe(false)
    onHost(`rm ${FROZEN}`)
  },
  3 * PATIENCE_MS,
)

test(
  'controllers that lose their lease in the middle of a script: the next ones end it, and do not run it again',
  async () => {
    const before = runs().length
    ordered(SLOW)
    const lease = new AbortController()
    const first = round(lease.signal).catch(() => undefined)
    await begins('slow')
    // It believes that it still has the lease: the host lets in one of the two.
    await expect(round()).rejects.toThrow('another session works on this host')
    lease.abort(new Error('the lease is lost'))
    await first
    await roundOnceFree()
    expect(lastStep()).toMatchObject({ operation: 'runScript', outcome: 'Unknown' })
    expect(isRunning('slow')).toBe(false)
    expect(runs().slice(before)).toEqual(['run'])
  },
  3 * PATIENCE_MS,
)

test.each([
  ['is cut in the middle', 'head -c 40'],
  ['holds zero bytes', 'tr "\\000-\\377" "\\000"'],
  ['is empty', 'head -c 0'],
])(
  'a journal that %s runs no step again, and leaves the component as it is',
  async (_, torn) => {
    const before = runs().length
    ordered(SLOW)
    const lost = new AbortController()
    const first = round(lost.signal).catch(() => undefined)
    await begins('slow')
    lost.abort(new Error('the power is gone'))
    await first
    for (const file of [`${STATE}/jobs/${job?.metadata.uid}.json`, `${STATE}/components/beacon/record.json`])
      onHost(`${torn} < ${file} > ${file}.torn; cat ${file}.torn > ${file}; rm ${file}.torn`)
    const started = pid()
    expect(await roundOnceFree()).toMatchObject({ state: 'Healthy', version: '1.0.0' })
    expect(lastStep()).toMatchObject({ outcome: 'Unknown', output: 'the host lost its record of the step' })
    expect(runs().slice(before)).toEqual(['run'])
    expect(onHost('cat /opt/beacon/bin/beacon')).toContain('exec sleep')
    expect([pid(), onHost('systemctl is-active kubenode-beacon')]).toEqual([started, 'active\n'])
  },
  3 * PATIENCE_MS,
)

test(
  'a reboot is ordered once, and is over when a later round finds another boot',
  async () => {
    const bootOf = () => onHost('cat /proc/1/stat').split(' ')[21]
    const before = bootOf()
    ordered({ reboot: { timeout: '10m' } })
    await round().catch(() => undefined)
    expect(lastStep()).toMatchObject({ operation: 'reboot', attempts: 1 })
    await until('the machine is back', () => host.machine.leader() !== undefined && bootOf() !== before, PATIENCE_MS)
    await until('its sshd answers', async () => (await round().catch(() => undefined)) !== undefined, PATIENCE_MS)
    expect(lastStep()).toMatchObject({ attempts: 1 })
  },
  3 * PATIENCE_MS,
)
