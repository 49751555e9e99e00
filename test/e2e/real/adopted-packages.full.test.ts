// chrony and node-exporter as Debian's packages have them, configured by hand, are adopted by components that `kubenode artifact from-deb` makes of the same
// packages, and handed back: byte for byte with mode, owner and links, also where the disk of the host lost what the agent knows of one of them.
import { chownSync, copyFileSync, cpSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { execPath } from 'node:process'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { machine as machineType } from '#api/kinds/machine.ts'
import { machineComponent, type MachineComponent } from '#api/kinds/machine-component.ts'
import { signStatement } from '#api/trust/statement.ts'
import { bundleAgent } from '#agent/join/program-bundle.ts'
import { run } from '#cli/program.ts'
import { AgentBench, MACHINE, eventually } from '../../integration/agent-bench.ts'
import { debFiles, unpackedDeb } from '../agent-host/debs.ts'
import { HostMachine, noMachines } from '../agent-host/machine.ts'
import { differences, hostTree } from './host-tree.ts'

const ROOT = join(import.meta.dirname, '../../..')
const PACKAGES = { chrony: 'chrony', 'node-exporter': 'prometheus-node-exporter' } as const
const UNITS = ['chrony', 'prometheus-node-exporter']
const STATE = '/var/lib/kubenode/state'
/** The network is shared with this machine: a port of this run alone, below those that the system gives to connections. */
const PORT = 12_000 + (process.pid % 4_000)
const SLOW_MS = 300_000

const missing = noMachines()
const bench = new AgentBench()
const versions = new Map<string, string>()
let host: HostMachine | undefined
let why = missing
let before: ReadonlyMap<string, string> = new Map()
let states = ''

const machine = (): HostMachine => {
  if (host === undefined) throw new Error('there is no machine')
  return host
}
const sh = (script: string): string => machine().run('sh', '-c', script).out
const agentLog = (): string => sh('journalctl -u kubenode-agent --no-pager -n 60 -o cat')
const unitStates = (): string =>
  sh(`systemctl show -p Id,ActiveState,UnitFileState,DropInPaths,FragmentPath ${UNITS.join(' ')}`)

/** Made as a user makes it, with a probe that does not ask a port of this machine, and signed with the key that this fleet trusts. */
async function publish(recipe: string, deb: string): Promise<void> {
  const [statements, artifacts] = [join(bench.folder, 'statements'), join(bench.folder, 'made')]
  let out = ''
  const io = { out: (t: string) => (out += t), err: () => undefined, cwd: bench.folder, env: {}, isTerminal: false }
  const own = join(bench.folder, `${recipe}-options`)
  const file = recipe === 'chrony' ? '/etc/default/chrony' : '/etc/default/prometheus-node-exporter'
  writeFileSync(
    own,
    recipe === 'chrony'
      ? 'DAEMON_OPTS="-F 1 -x"\n'
      : `ARGS="--web.listen-address=127.0.0.1:${PORT} --log.level=error"\n`,
  )
  const args = ['--recipe', recipe, '--statements', statements, '--artifacts', artifacts, '-o', 'json']
  if ((await run(['artifact', 'from-deb', deb, ...args, '--file', `${own}=${file}`], io)) !== 0) throw new Error(out)
  const object = JSON.parse(out) as MachineComponent
  const unit = recipe === 'chrony' ? 'chrony.service' : 'prometheus-node-exporter.service'
  const probes = [{ name: 'unit', unit: { name: unit }, interval: '1s', timeout: '3s', settle: '1s' }] as const
  const spec = signStatement({ ...object.spec, probes }, bench.publisher.signer)
  const url = spec.artifacts?.[0]?.url ?? ''
  mkdirSync(dirname(join(bench.folder, 'artifacts', url)), { recursive: true })
  copyFileSync(join(artifacts, url), join(bench.folder, 'artifacts', url))
  await bench.client.create(machineComponent, { ...object, spec })
  versions.set(recipe, spec.version)
}

/** As the packages lay it out, and a person changed it. */
function layOut(root: string, folders: readonly string[]): void {
  for (const folder of folders)
    for (const part of ['etc', 'usr'])
      if (existsSync(join(folder, part))) cpSync(join(folder, part), join(root, part), { recursive: true })
  for (const folder of folders)
    if (existsSync(join(folder, 'lib'))) cpSync(join(folder, 'lib'), join(root, 'usr/lib'), { recursive: true })
  const put = (path: string, text: string, mode: number, gid = 0): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true })
    writeFileSync(join(root, path), text, { mode })
    chownSync(join(root, path), 0, gid)
  }
  put('etc/chrony/chrony.conf', '# by hand\nserver 192.0.2.1 iburst\ndriftfile /var/lib/chrony/drift\n', 0o640, 4)
  put('etc/default/chrony', 'DAEMON_OPTS="-F -1 -x"\n', 0o644)
  put('etc/default/prometheus-node-exporter', `ARGS="--web.listen-address=127.0.0.1:${PORT}"\n`, 0o644)
  put('etc/systemd/system/chrony.service.d/nice.conf', '[Service]\nNice=-5\n', 0o644)
}

async function declare(spec: Readonly<Record<string, unknown>>, names: readonly string[]): Promise<void> {
  const components = names.map((name) => ({
    name,
    version: versions.get(name),
    attempt: 1,
    switch: { attempt: 1, permit: `p-${name}` },
  }))
  const object = {
    apiVersion: 'kubenode.io/v1alpha1',
    kind: 'Machine',
    metadata: { name: MACHINE },
    spec: { ...spec, components },
  }
  await bench.client.apply(machineType, object, { fieldManager: 'kubenode-machine', force: true })
}

async function joinsAndAdopts(): Promise<void> {
  await declare({ adoption: 'Adopt' }, [])
  bench.machineUid = (await bench.machine())?.metadata.uid
  const bundle = Buffer.from(JSON.stringify(bench.joinBundle('/mnt/artifacts'))).toString('base64')
  expect(machine().run('/mnt/agent/join.sh', bundle, '--no-start')).toMatchObject({ code: 0 })
  sh('systemctl daemon-reload; systemctl enable --now kubenode-agent')
  await declare({ adoption: 'Adopt' }, Object.keys(PACKAGES))
  for (const name of Object.keys(PACKAGES))
    await eventually(
      name,
      () => bench.component(name),
      (c) => c?.state === 'Healthy' && c.removal !== undefined,
      60_000,
    ).catch((e: unknown) => {
      throw new Error(agentLog(), { cause: e })
    })
  expect(
    sh('readlink /usr/sbin/chronyd /etc/chrony/chrony.conf /usr/bin/prometheus-node-exporter').split('\n'),
  ).toEqual([
    expect.stringContaining('/components/chrony/current/'),
    expect.stringContaining('/components/chrony/current/'),
    expect.stringContaining('/components/node-exporter/current/'),
    '',
  ])
}

async function leaves(): Promise<void> {
  await declare({ adoption: 'Adopt', leaving: true }, Object.keys(PACKAGES))
  const isGone = (): boolean =>
    !['opt/kubenode', 'var/lib/kubenode', 'etc/systemd/system/kubenode-agent.service'].some((p) =>
      existsSync(join(machine().root, p)),
    )
  await eventually('the host without its agent', isGone, Boolean, 60_000).catch((e: unknown) => {
    throw new Error(agentLog(), { cause: e })
  })
}

beforeAll(async () => {
  if (missing !== undefined) return
  const names = Object.values(PACKAGES)
  const [folders, debs] = [
    names.map((n) => unpackedDeb('bookworm', n)),
    names.map((n) => debFiles('bookworm', n).at(-1)),
  ]
  if (folders.includes(undefined) || debs.includes(undefined)) {
    why = 'Debian’s packages cannot be fetched'
    return
  }
  await bench.start()
  await bundleAgent({ root: ROOT, out: join(bench.folder, 'agent'), prefix: '/opt/kubenode', node: execPath })
  for (const [n, recipe] of Object.keys(PACKAGES).entries()) await publish(recipe, debs[n] ?? '')
  host = new HostMachine([
    `${join(bench.folder, 'artifacts')}:/mnt/artifacts`,
    `${join(bench.folder, 'agent')}:/mnt/agent`,
  ])
  layOut(
    host.root,
    folders.filter((f) => f !== undefined),
  )
  await host.boot()
  sh('systemd-sysusers --inline "u _chrony - - /var/lib/chrony" "u prometheus -"')
  sh(`systemctl daemon-reload; systemctl enable --now ${UNITS.join(' ')}`)
  expect(sh(`systemctl is-active ${UNITS.join(' ')}`)).toBe('active\nactive\n')
  before = hostTree(host.root)
  states = unitStates()
  for (const name of Object.keys(PACKAGES)) {
    await declare({}, [])
    await bench.permit(`p-${name}`, 'SwitchComponent', 'Granted')
  }
}, SLOW_MS)

afterAll(async () => {
  if (missing !== undefined) return
  await host?.remove()
  await bench.stop()
}, SLOW_MS)

beforeEach((context) => {
  if (why !== undefined) context.skip(why)
})

test.each([
  ['as they are', ''],
  [
    'after the disk lost the version of one and the record of the other',
    `rm -rf ${STATE}/components/chrony/slots/*; : > ${STATE}/components/node-exporter/record.json`,
  ],
])(
  'F47 what Debian’s packages have, configured by hand, is handed back byte for byte: %s',
  async (_name, damage) => {
    await joinsAndAdopts()
    if (damage !== '') sh(`systemctl stop kubenode-agent; ${damage}; systemctl start kubenode-agent`)
    await leaves()
    expect([differences(before, hostTree(machine().root)), unitStates()]).toEqual([[], states])
  },
  SLOW_MS,
)

test(
  'F47 with a list of originals that is cut off both stay in use, and the originals are saved',
  async () => {
    await joinsAndAdopts()
    sh(`systemctl stop kubenode-agent; truncate -s 60 ${STATE}/kept/*/kept.json; systemctl start kubenode-agent`)
    await leaves()
    expect(sh(`systemctl is-active ${UNITS.join(' ')}`)).toBe('active\nactive\n')
    expect(sh('stat -c %F /usr/sbin/chronyd /usr/bin/prometheus-node-exporter')).toBe('regular file\nregular file\n')
    expect(sh('cat /var/backups/kubenode/*/unlisted/* | grep -ac "^# by hand"')).toBe('1\n')
  },
  SLOW_MS,
)
