import { describe, expect, test } from 'vitest'
import { writeDurably } from '../../files/durable.ts'
import { MemoryFiles } from '#test/doubles/files/memory-files.ts'
import { nodeDir } from '../../node-dir.ts'
import type { Service } from '../port.ts'
import { unitReading } from './reading.ts'
import { createSystemctl, parseShow } from './systemctl.ts'
import { UnitFiles } from './unit-files.ts'
import { dropInText, ownerOf, unitName, unitText } from './unit.ts'

const service: Service = { exec: '/opt/x/x', args: ['--a', 'b c'], restart: 'Always', killMode: 'Process' }

describe('a unit', () => {
  test('is named after its component, or as declared', () => {
    expect([
      unitName('x', service),
      unitName('x', { ...service, unit: 'y' }),
      unitName('x', { ...service, unit: 'z.socket' }),
    ]).toEqual(['kubenode-x.service', 'y.service', 'z.socket'])
  })

  test('holds everything of the service, and knows whose it is', () => {
    const text = unitText({
      component: 'x',
      service: { ...service, user: 'worker', env: { A: '1' } },
      environment: { B: '2' },
    })
    expect(ownerOf(text)).toBe('x')
    for (const line of [
      'ExecStart="/opt/x/x" "--a" "b c"',
      'User=worker',
      'Environment="A=1"',
      'Environment="B=2"',
      'Environment="KUBENODE_COMPONENT=x"',
      'Restart=always',
      'KillMode=process',
      'WantedBy=multi-user.target',
    ])
      expect(text.split('\n')).toContain(line)
  })

  test.each([
    ['a specifier', '%h', '"%%h"'],
    ['a variable', '$HOME ${X}', '"$$HOME $${X}"'],
    ['quotes and backslashes', 'a"b\\c', '"a\\"b\\\\c"'],
  ])('S22 takes %s as it is', (_what, arg, shown) =>
    expect(unitText({ component: 'x', service: { ...service, args: [arg] }, environment: {} })).toContain(
      `ExecStart="/opt/x/x" ${shown}\n`,
    ),
  )

  test('S22 refuses a second line', () => {
    for (const changed of [{ args: ['a\nExecStartPre=/bin/evil'] }, { env: { A: 'b\nUser=root' } }, { user: 'a\nb' }])
      expect(() => unitText({ component: 'x', service: { ...service, ...changed }, environment: {} })).toThrow(
        /^KN8021/,
      )
  })

  test('of another owner gets a drop-in with only what was declared', () => {
    const unit = 'containerd.service'
    expect(
      dropInText({
        component: 'x',
        service: { unit, restart: 'Always', killMode: 'Process' },
        environment: { B: '2' },
      }),
    ).toBeUndefined()
    expect(dropInText({ component: 'x', service: { ...service, unit }, environment: {} })?.split('\n')).toEqual(
      expect.arrayContaining(['ExecStart=', 'ExecStart="/opt/x/x" "--a" "b c"']),
    )
    expect(ownerOf('[Unit]\nDescription=foreign\n')).toBeUndefined()
  })
})

const shown = (more: string): string =>
  `Id=x.service\nLoadState=loaded\nSubState=running\nMainPID=7\nNRestarts=0\nResult=success\nExecMainStatus=0\n${more}`

test.each([
  ['runs', 'ActiveState=active', 'Always', 0, 'Running'],
  ['was started again by systemd since', 'ActiveState=active\nNRestarts=2', 'Always', 1, 'Crashed'],
  [
    'waits to be started again',
    'ActiveState=activating\nSubState=auto-restart\nResult=exit-code',
    'Always',
    0,
    'Crashed',
  ],
  ['failed', 'ActiveState=failed\nResult=signal', 'OnFailure', 0, 'Crashed'],
  ['failed and is never started again', 'ActiveState=failed\nResult=signal', 'Never', 0, 'Ended'],
  ['was stopped by a user', 'ActiveState=inactive\nSubState=dead\nMainPID=0', 'Always', 0, 'Stopped'],
  ['ended as it may', 'ActiveState=inactive\nSubState=dead\nMainPID=0', 'OnFailure', 0, 'Ended'],
] as const)('a unit that %s', (_what, more, restart, restarts, reading) => {
  const [state] = parseShow(shown(more), ['x.service'])
  expect(state === undefined ? undefined : unitReading(state, restart, restarts).reading).toBe(reading)
})

test('additions of others to a unit of ours are named, and to other units ignored', async () => {
  const files = new MemoryFiles()
  const unitFiles = new UnitFiles({ files, dir: nodeDir('/node', '/'), systemctl: createSystemctl(), environment: {} })
  const own = { unit: 'kubenode-x.service', ours: true }
  expect(await unitFiles.additions(own)).toEqual([])
  for (const path of [
    '/etc/systemd/system/kubenode-x.service.d/10-limits.conf',
    '/run/systemd/system/kubenode-x.service.d/50-MemoryMax.conf',
    '/etc/systemd/system/service.d/all.conf',
    '/etc/systemd/system/kubenode-x.service.d/notes.txt',
  ])
    await writeDurably(files, path, '[Service]\n')
  expect(await unitFiles.additions(own)).toEqual([
    '/etc/systemd/system/kubenode-x.service.d/10-limits.conf',
    '/run/systemd/system/kubenode-x.service.d/50-MemoryMax.conf',
  ])
  expect(await unitFiles.additions({ ...own, ours: false })).toEqual([])
})

test('what is taken away leaves nothing of ours behind: no unit, no failure of it, no empty folder', async () => {
  const files = new MemoryFiles()
  const said: string[] = []
  const systemctl = {
    ...createSystemctl(),
    run: async (...args: readonly string[]) => {
      said.push(args.join(' '))
      if (args[0] === 'reset-failed') throw new Error('Unit not loaded.')
    },
  }
  const unitFiles = new UnitFiles({ files, dir: nodeDir('/node', '/'), systemctl, environment: {} })
  const [unit, folder] = ['kubenode-x.service', '/etc/systemd/system/kubenode-x.service.d']
  await writeDurably(files, `/etc/systemd/system/${unit}`, unitText({ component: 'x', service, environment: {} }))
  await writeDurably(files, `${folder}/50-kubenode.conf`, unitText({ component: 'x', service, environment: {} }))
  await unitFiles.remove('x', unit)
  expect([await files.list('/etc/systemd/system'), said]).toEqual([
    [],
    [`disable -- ${unit}`, `reset-failed -- ${unit}`, 'daemon-reload'],
  ])
  await writeDurably(files, `${folder}/50-kubenode.conf`, unitText({ component: 'x', service, environment: {} }))
  await writeDurably(files, `${folder}/own.conf`, '[Service]')
  await unitFiles.remove('x', unit)
  expect(await files.list(folder)).toEqual(['own.conf'])
})

test.each([
  ['not found since its files were removed', 'not-found', true],
  ['in error: it failed, its files were removed and are there again', 'error', true],
  ['as its files say', 'loaded', false],
])('a unit that systemd knows %s', async (_what, load, reloads) => {
  const said: string[] = []
  const systemctl = {
    show: async (units: readonly string[]) => parseShow(`LoadState=${load}\nNeedDaemonReload=no`, units),
    run: async (...args: readonly string[]) => void said.push(args.join(' ')),
  }
  const unitFiles = new UnitFiles({ files: new MemoryFiles(), dir: nodeDir('/node', '/'), systemctl, environment: {} })
  const brought: Service = { unit: 'x', restart: 'Always', killMode: 'Process' }
  expect(await unitFiles.write({ component: 'x', service: brought }, 'x.service', undefined)).toBe(false)
  expect(said).toEqual(reloads ? ['daemon-reload'] : [])
})

test('links that systemd made to a slot get the path of the unit, and those of others stay', async () => {
  const files = new MemoryFiles()
  const dir = nodeDir('/node', '/')
  const [units, slot] = ['/etc/systemd/system', '/node/state/components/x/slots/one-0/files/0/x.service']
  const links: Readonly<Record<string, string>> = {
    'multi-user.target.wants/x.service': slot,
    'db.service.requires/x.service': slot,
    'alias.service': slot,
    'multi-user.target.wants/y.service': '/usr/lib/systemd/system/y.service',
    'y.service': '/node/state/components/y/slots/one-0/files/0/y.service',
    'x.service': '/node/state/components/x/current/files/0/x.service',
  }
  for (const [name, target] of Object.entries(links)) {
    const path = `${units}/${name}`
    await files.makeFolder(path.slice(0, path.lastIndexOf('/')))
    await files.link(path, target)
  }
  const systemctl = { ...createSystemctl(), run: async () => undefined }
  await new UnitFiles({ files, dir, systemctl, environment: {} }).disown('x', 'x.service')
  const now = await Promise.all(Object.keys(links).map((name) => files.readLink(`${units}/${name}`)))
  expect(now).toEqual([...Array<string>(3).fill(`${units}/x.service`), ...Object.values(links).slice(3)])
})

test('a unit that an agent wrote before it named the component there was changed by nobody', async () => {
  const files = new MemoryFiles()
  const unitFiles = new UnitFiles({ files, dir: nodeDir('/node', '/'), systemctl: createSystemctl(), environment: {} })
  const [wish, own] = [
    { component: 'x', service },
    { unit: 'kubenode-x.service', ours: true },
  ]
  const older = unitText({ ...wish, environment: {} }).replace('Environment="KUBENODE_COMPONENT=x"\n', '')
  expect(older).not.toContain('KUBENODE_COMPONENT')
  await writeDurably(files, unitFiles.pathOf(own), older)
  expect(await unitFiles.drift(wish, own)).toBeUndefined()
  await writeDurably(files, unitFiles.pathOf(own), `${older}LimitNOFILE=7\n`)
  expect(await unitFiles.drift(wish, own)).toBe('unit kubenode-x.service was changed')
})
