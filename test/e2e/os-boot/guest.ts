// Runs in the guest at each boot: the switch of a component and the real boot loader. API server, permits and processes are doubles; dpkg, GRUB, the
// reboots and the kernels are real. Takes one order of its list after the other, and reports each end on the second serial line.
import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename } from 'node:path'
import { exit } from 'node:process'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAtRest } from '#agent/components/record.ts'
import { realFiles } from '#agent/files/real.ts'
import { realBootHost } from '#agent/os/boot-host.ts'
import { systemClock } from '#lib/system-clock.ts'
import { FakeNode } from '#test/doubles/node/fake-node.ts'
import { newPublisher, release } from '#test/doubles/node/release.ts'
import { END, HERE, type Order, type Report } from './orders.ts'

const LINE = '/dev/ttyS1'
const KEY = `${HERE}/key.pem`
const DONE = `${HERE}/done`

const say = (report: Report): void => appendFileSync(LINE, `${JSON.stringify(report)}\n`)
const orders = JSON.parse(readFileSync(`${HERE}/orders.json`, 'utf8')) as readonly Order[]
const done = existsSync(DONE) ? Number(readFileSync(DONE, 'utf8')) : 0
const publisher = newPublisher(readFileSync(KEY, 'utf8'))

const releases = orders.map(({ version, os, packages = [] }) =>
  release(publisher, {
    component: 'kernel',
    version,
    entries: packages.map((path) => ({ name: basename(path), content: readFileSync(path) })),
    spec: {
      type: 'OS',
      install: undefined,
      disruption: 'Reboot',
      ...(packages.length === 0 && { artifacts: undefined }),
      probes: [{ name: 'p', tcp: { port: 1 }, interval: '1s', timeout: '1s', settle: '5s' }],
      os: { ...os, ...(packages.length > 0 && { packages: packages.map((path) => basename(path)) }) },
    },
  }),
)

const node = new FakeNode(
  {
    publisher,
    releases,
    clock: systemClock,
    medium: { files: realFiles, folder: '/var/lib/kubenode' },
    bootHost: realBootHost({ files: realFiles }),
    bootId: readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim(),
    pending: () => done === 0,
  },
  'kernel',
)

const order = orders[done]
if (order === undefined) {
  say({ order: END, cmdline: readFileSync('/proc/cmdline', 'utf8').trim() })
  execFileSync('systemctl', ['poweroff'])
  exit(0)
}
await node.start()
const attempt = done + 1
node.obey({ version: order.version, attempt, ...(done > 0 && { switch: { attempt, permit: 'p' } }) })
for (;;) {
  await sleep(500)
  const { record } = node.worker
  if (node.reboots > 0) {
    await node.worker.close()
    execFileSync('systemctl', ['reboot'])
    exit(0)
  }
  if (record?.message !== undefined && record.state === 'Fetching')
    say({ order: order.version, problem: record.message })
  if (record === undefined || !isAtRest(record) || record.target.attempt !== attempt) continue
  await node.worker.close()
  const format = '--showformat=${db:Status-Status} ${Package}\n'
  const kernels = execFileSync('dpkg-query', ['--show', format, 'linux-image-*'], { encoding: 'utf8' }).split('\n')
  const report: Report = {
    order: order.version,
    cmdline: readFileSync('/proc/cmdline', 'utf8').trim(),
    kernel: execFileSync('uname', ['-r'], { encoding: 'utf8' }).trim(),
    state: record.state,
    current: record.current?.version,
    message: record.message,
    environment: execFileSync('grub-editenv', ['list'], { encoding: 'utf8' }).trim().split('\n'),
    kernels: kernels.flatMap((line) => /^installed (linux-image-\d\S*)$/.exec(line)?.[1] ?? []),
  }
  // Before the report, after which the test cuts the power: the next boot would take this order again.
  writeFileSync(DONE, String(done + 1))
  execFileSync('sync')
  say(report)
  // The test cuts the power here.
  await sleep(3_600_000)
}
