// A component is made from just a download, with the same bytes each time. Recipes add the right settings, and anything dropped is reported.
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { generateKey } from '#api/trust/keys.ts'
import type { MachineComponentInput } from '#api/kinds/machine-component.ts'
import { debOf, type DebParts } from '#test/doubles/node/deb.ts'
import { tarOf } from '#test/doubles/node/tar.ts'
import { run } from '../../program.ts'
import { RECIPE_NAMES } from '#artifacts/authoring/from/recipe-names.ts'
import { RECIPES } from '#artifacts/authoring/from/recipes.ts'
import { changedUnit, unitFacts } from '#artifacts/authoring/from/unit-text.ts'

let dir = ''
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'kubenode-made-'))
})
afterEach(() => rmSync(dir, { recursive: true, force: true }))

const at = (name: string): string => join(dir, name)

async function from(kind: string, bytes: Buffer, name: string, ...flags: readonly string[]) {
  writeFileSync(at(name), bytes)
  let [out, err] = ['', '']
  const io = { out: (t: string) => (out += t), err: (t: string) => (err += t), cwd: dir, env: {}, isTerminal: false }
  const places = ['--statements', at('fleet'), '--artifacts', at('artifacts')]
  const code = await run(['artifact', `from-${kind}`, at(name), ...places, ...flags], io)
  return { code, out, err }
}

const quiet = () => ({ out: () => undefined, err: () => undefined, cwd: dir, env: {}, isTerminal: false })

const UNIT =
  '[Unit]\nDescription=lamp\n\n[Service]\nUser=lamp\nExecStart=-/usr/sbin/lampd $OPTS\nRestart=on-failure\nKillMode=process\n'

const lamp = (more: Partial<DebParts> = {}): Buffer =>
  debOf({
    scripts: ['postinst', 'prerm'],
    conffiles: ['/etc/default/lamp', '/etc/init.d/lamp'],
    data: [
      { name: './usr/sbin/lampd', content: '#!/bin/sh\n', mode: 0o755 },
      { name: './usr/bin/lamp', type: '2', linkName: '../sbin/lampd' },
      { name: './usr/bin/suid', content: '#!/bin/sh\n', mode: 0o4755 },
      { name: './lib/systemd/system/lamp.service', content: UNIT },
      { name: './lib/systemd/system/lampd.service', type: '2', linkName: 'lamp.service' },
      { name: './etc/default/lamp', content: 'OPTS="-v"\n' },
      { name: './etc/lamp.toml', content: 'key = "{{odd}}"\n' },
      { name: './etc/init.d/lamp', content: '#!/bin/sh\n', mode: 0o755 },
      { name: './usr/share/doc/lamp/README', content: 'x' },
      { name: './var/lib/lamp/', type: '5' },
      { name: './var/lib/lamp/state', content: 'x' },
      { name: './var/spool/lamp/', type: '5' },
      { name: './dev/lamp', type: '3' },
    ],
    ...more,
  })

describe('a Debian package', () => {
  test('becomes programs, files, unit and account; its scripts are named and not run, and what is left out has a reason', async () => {
    const { code, out, err } = await from('deb', lamp(), 'lamp.deb')
    expect({ code, err }).toMatchObject({
      code: 0,
      err: expect.stringMatching(/^next: kubenode artifact sign .*lamp-2.4\+ds1-3-deb12u1.json/) as string,
    })
    const statement = JSON.parse(readFileSync(at('fleet/lamp-2.4+ds1-3-deb12u1.json'), 'utf8')) as MachineComponentInput
    expect(statement.spec).toMatchObject({
      component: 'lamp',
      version: '2.4+ds1-3-deb12u1',
      install: {
        binaries: [
          // Text that would be parsed as a template is copied unchanged.
          { source: 'etc/lamp.toml', path: '/etc/lamp.toml', mode: '0644' },
          { source: 'usr/bin/lamp', path: '/usr/bin/lamp', mode: '0755' },
          { source: 'usr/bin/suid', path: '/usr/bin/suid', mode: '0755' },
          { source: 'usr/sbin/lampd', path: '/usr/sbin/lampd', mode: '0755' },
        ],
      },
      files: [
        { path: '/etc/default/lamp', format: 'shell', template: 'OPTS="-v"\n', onChange: 'Restart' },
        { path: '/etc/systemd/system/lamp.service', format: 'ini', template: UNIT },
      ],
      service: { unit: 'lamp.service', restart: 'OnFailure', killMode: 'Process' },
      hooks: { preInstall: { command: ['/usr/bin/systemd-sysusers', '--inline', 'u lamp -'] } },
      probes: [{ name: 'unit', unit: { name: 'lamp.service' } }],
      disruption: 'Restart',
    })
    for (const words of [
      'postinst',
      'maintainer scripts are never run',
      '/etc/init.d/lamp',
      'set-id or sticky bit (4755) is not kept',
      '/dev/lamp',
      '/var/lib/lamp/state',
      '/var/spool/lamp/',
      'on hosts  libc6 (>= 2.34)',
    ])
      expect(out).toContain(words)
    expect(out).not.toContain('README')
    expect(out).not.toMatch(/\/var\/lib\/lamp\/$/m)
    expect(existsSync('/ran')).toBe(false)
  })

  test('gives the same bytes again, keeps a statement that was edited, and never puts another content under a version', async () => {
    expect((await from('deb', lamp(), 'lamp.deb')).code).toBe(0)
    const file = at('fleet/lamp-2.4+ds1-3-deb12u1.json')
    const edited = readFileSync(file, 'utf8').replace('"disruption": "Restart"', '"disruption": "Drain"')
    writeFileSync(file, edited)
    const again = await from('deb', lamp(), 'lamp.deb')
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining('names this artifact already') as string })
    expect(readFileSync(file, 'utf8')).toBe(edited)
    const other = lamp({ data: [{ name: './usr/sbin/lampd', content: '#!/bin/bash\n', mode: 0o755 }] })
    expect(await from('deb', other, 'lamp.deb')).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^KN1135: /) as string,
    })
    expect((await from('deb', other, 'lamp.deb', '--as', '2.5')).code).toBe(0)
  })

  test('a dry run writes nothing and shows the same; json and yaml are the object; a key signs it', async () => {
    const dry = await from('deb', lamp(), 'lamp.deb', '--dry-run', '-o', 'json')
    expect(readdirSync(dir)).toEqual(['lamp.deb'])
    writeFileSync(at('key.pem'), generateKey().pem)
    const real = await from('deb', lamp(), 'lamp.deb', '-o', 'json', '--key', 'key.pem')
    const [shown, made] = [dry.out, real.out].map((t) => JSON.parse(t) as MachineComponentInput)
    expect(made?.spec.artifacts).toEqual(shown?.spec.artifacts)
    expect(made?.spec.signatures).toHaveLength(1)
    expect(real.err).not.toContain('artifact sign')
    expect((await from('deb', lamp(), 'lamp.deb', '-o', 'yaml')).out).toMatch(/^apiVersion: kubenode.io/)
  })

  test('a unit that the host keeps is not brought, and the service is ended as its text says', async () => {
    const data = [
      { name: './usr/bin/containerd', content: '#!/bin/sh\n', mode: 0o755 },
      {
        name: './lib/systemd/system/containerd.service',
        content: '[Service]\nExecStart=/usr/bin/containerd\nKillMode=process\n',
      },
    ]
    const flags = ['--recipe', 'containerd', '--leave', '/etc/systemd/system/containerd.service', '-o', 'json']
    const { out } = await from('deb', lamp({ data }), 'containerd.deb', ...flags)
    const { spec } = JSON.parse(out) as MachineComponentInput
    expect([spec.files ?? [], spec.service]).toEqual([
      [],
      { unit: 'containerd.service', restart: 'Always', killMode: 'Process' },
    ])
  })

  test.each(['kubelet', 'containerd'])('the unit of recipe %s leaves the one of a host that has it', async (recipe) => {
    const data = [{ name: `./usr/bin/${recipe}`, content: '#!/bin/sh\n', mode: 0o755 }]
    const { out } = await from('deb', lamp({ data }), 'x.deb', '--recipe', recipe, '-o', 'json')
    const { spec } = JSON.parse(out) as MachineComponentInput
    expect((spec.files ?? []).map((f) => [f.path, f.existing])).toEqual([
      [`/etc/systemd/system/${recipe}.service`, 'Leave'],
    ])
  })

  test.each<[string, readonly string[], RegExp]>([
    ['several services', [], /KN1133: .*2 services \(a.service, lamp.service\)/],
    ['a unit that is not there', ['--unit', 'x.service'], /no unit x.service; its services: a.service, lamp.service/],
    ['a path that it would not install', ['--unit', 'none', '--leave', '/opt/x'], /would not install \/opt\/x/],
    ['a file that it does not have', ['--take', 'usr/bin/none=/usr/bin/none'], /no file usr\/bin\/none/],
    ['a target that climbs', ['--take', 'usr/sbin/lampd=/usr/../etc/x'], /KN1002: .*absolute path/],
    ['a name in capitals', ['--component', 'Lamp'], /KN1002: cannot use --component "Lamp"; write lower-case letters/],
    ['half of a requirement', ['--requires', 'runc'], /KN1002: .*COMPONENT=RANGE/],
    ['an unknown recipe', ['--recipe', 'docker'], /kubelet, containerd/],
    ['a recipe that is not in it', ['--recipe', 'kubelet', '--arch', 'arm64', '--take', 'usr/bin/none'], /no file/],
  ])('%s ends in a message that says what to do', async (_, flags, says) => {
    const data = [
      { name: './usr/sbin/lampd', content: 'x', mode: 0o755 },
      { name: './lib/systemd/system/lamp.service', content: UNIT },
      { name: './lib/systemd/system/a.service', content: UNIT },
    ]
    const { code, err } = await from('deb', lamp({ data }), 'lamp.deb', ...flags)
    expect(code).toBe(2)
    expect(err).toMatch(says)
  })
})

/** Enough of a program to detect its architecture. */
function elf(machine: number): Buffer {
  const head = Buffer.alloc(128)
  head.write('\x7fELF', 'latin1')
  head[4] = 2
  head[5] = 1
  head.writeUInt16LE(machine, 18)
  return head
}
const [AMD64, ARM64] = [0x3e, 0xb7]

describe('a release archive', () => {
  test('with a recipe: programs, unit, probes and drain rule; the processor is that of the programs', async () => {
    const tar = gzipSync(
      tarOf(
        ['containerd', 'containerd-shim-runc-v2', 'ctr', 'containerd-stress'].map((n) => ({
          name: `bin/${n}`,
          content: elf(AMD64),
          mode: 0o755,
        })),
      ),
    )
    const { out } = await from(
      'tar',
      tar,
      'containerd-2.1.4-linux-amd64.tar.gz',
      '--recipe',
      'containerd',
      '--requires',
      'runc=>=1.1 <2',
      '-o',
      'json',
    )
    const { spec } = JSON.parse(out) as MachineComponentInput
    expect(spec).toMatchObject({
      version: '2.1.4',
      artifacts: [{ arch: 'amd64', url: 'containerd/containerd-2.1.4-amd64.tar' }],
      install: {
        binaries: [
          { path: '/usr/bin/containerd' },
          { path: '/usr/bin/containerd-shim-runc-v2' },
          { path: '/usr/bin/ctr' },
        ],
      },
      service: { unit: 'containerd.service', restart: 'Always', killMode: 'Process' },
      probes: [{ name: 'cri', cri: { socket: '/run/containerd/containerd.sock' } }],
      requires: [{ component: 'runc', range: '>=1.1 <2' }],
      disruption: 'Restart',
    })
    const arm = gzipSync(tarOf([{ name: 'bin/containerd', content: elf(ARM64), mode: 0o755 }]))
    const name = 'containerd-2.1.4-linux-arm64.tar.gz'
    expect((await from('tar', arm, name, '--recipe', 'containerd', '--arch', 'amd64')).err).toMatch(
      /KN1131: .*it is for arm64/,
    )
    // Another platform of the same version joins the statement.
    const both = JSON.parse(
      (await from('tar', arm, name, '--recipe', 'containerd', '-o', 'json')).out,
    ) as MachineComponentInput
    expect(both.spec.artifacts?.map((a) => a.arch)).toEqual(['amd64', 'arm64'])
  })

  const SCRIPT = ['--component', 'lamp', '--take', 'lamp-1.0.0=/usr/local/bin/lamp', '--exec'] as const
  const script = (exec: string) => from('tar', Buffer.from('#!/bin/sh\nexec sleep 9\n'), 'lamp-1.0.0', ...SCRIPT, exec)

  test.each([
    ['/usr/local/bin/lamp --bright 7', { exec: '/usr/local/bin/lamp', args: ['--bright', '7'] }],
    ['/usr/local/bin/lamp', { exec: '/usr/local/bin/lamp' }],
  ])('--exec %j makes a script a service without a unit', async (exec, service) => {
    const { code, out } = await script(exec)
    expect([code, out]).toEqual([0, expect.stringContaining(`service   ${exec}: restart Always`)])
    const { spec } = JSON.parse(readFileSync(at('fleet/lamp-1.0.0.json'), 'utf8')) as MachineComponentInput
    expect(spec).toMatchObject({ service: { ...service, restart: 'Always' }, disruption: 'Restart' })
    expect([spec.service?.unit, spec.probes]).toEqual([undefined, undefined])
  })

  test.each([
    ['lamp', /--exec "lamp".*absolute path/],
    ['/usr/local/bin/lamp "a b"', /without quotes/],
    ['/usr/local/bin/lamp; reboot', /without quotes and other signs of a shell/],
    ['/usr/bin/other', /--exec names \/usr\/bin\/other, and it installs \/usr\/local\/bin\/lamp/],
  ])('--exec %j is refused', async (exec, why) => {
    const { code, err } = await script(exec)
    expect([code === 0, err]).toEqual([false, expect.stringMatching(why)])
  })

  test('one program as it was downloaded, with a version that only the user knows', async () => {
    expect((await from('tar', elf(AMD64), 'kubelet', '--recipe', 'kubelet')).err).toMatch(/KN1002: .*--as VERSION/)
    const { out } = await from('tar', elf(AMD64), 'kubelet', '--recipe', 'kubelet', '--as', '1.36.2', '-o', 'json')
    expect((JSON.parse(out) as MachineComponentInput).spec).toMatchObject({
      component: 'kubelet',
      install: { binaries: [{ source: 'usr/bin/kubelet', path: '/usr/bin/kubelet' }] },
      service: { unit: 'kubelet.service', killMode: 'Process' },
      probes: [{ name: 'healthz' }, { name: 'lease', nodeLease: { maxAge: '40s' } }],
      skew: { maxAheadOfApiServer: 0, maxBehindApiServer: 3 },
      disruption: 'Drain',
      drainOn: 'Minor',
    })
  })

  test('without a unit and without --exec it says that nothing starts the program', async () => {
    const { code, out } = await from('tar', elf(AMD64), 'lamp-1.0.0', '--component', 'lamp', '--dry-run')
    expect([code, out]).toEqual([0, expect.stringMatching(/ {2}service {3}none: nothing starts .*--exec/)])
    const recipe = ['--recipe', 'runc', '--as', '1.2.3', '--dry-run']
    expect((await from('tar', elf(AMD64), 'runc', ...recipe)).out).not.toContain('service')
  })

  test('options that a statement does not have yet are not shown as if it had them, and what to do is said', async () => {
    expect((await from('tar', elf(AMD64), 'lamp-1.0.0', '--component', 'lamp')).code).toBe(0)
    const file = at('fleet/lamp-1.0.0.json')
    const before = readFileSync(file, 'utf8')
    const withExec = ['--component', 'lamp', '--exec', '/usr/local/bin/lamp-1.0.0']
    const again = await from('tar', elf(AMD64), 'lamp-1.0.0', ...withExec)
    expect([again.code, again.out]).toEqual([
      0,
      expect.stringMatching(/ {2}service {3}none: .* {2}switch {4}disrupts/s),
    ])
    expect(again.out).toContain(
      `${file} names this artifact already; it stays as it is, although these options make another service, disruption\n`,
    )
    expect(again.err).toMatch(/^next: edit .*lamp-1.0.0.json, or delete it and run this command again\n/)
    expect(readFileSync(file, 'utf8')).toBe(before)
    writeFileSync(at('key.pem'), generateKey().pem)
    expect(await run(['artifact', 'sign', file, '--key', at('key.pem')], quiet())).toBe(0)
    expect((await from('tar', elf(AMD64), 'lamp-1.0.0', ...withExec)).err).toMatch(
      /^next: make another version with --as/,
    )
    const same = await from('tar', elf(AMD64), 'lamp-1.0.0', '--component', 'lamp')
    expect([same.out, same.err]).toEqual([
      expect.stringContaining('it stays as it is\n'),
      expect.not.stringContaining('edit'),
    ])
  })

  test.each([
    ['/etc/systemd/system/kubenode-agent.service', 'the KubeNode agent'],
    ['/etc/systemd/system/kubenode-agent.service.d/x.conf', 'the KubeNode agent'],
    ['/opt/kubenode/agent.mjs', 'the KubeNode agent'],
    ['/etc/systemd/system/dbus.service', 'systemd'],
    ['/etc/systemd/system/systemd-journald.service', 'systemd'],
    ['/etc/systemd/system/dbus.service.d/limits.conf', undefined],
    ['/etc/systemd/system/kubenodelamp.service', undefined],
  ])('a file for %s: belongs to %s', async (path, owner) => {
    writeFileSync(at('own'), '[Service]\nExecStart=/usr/local/bin/lamp-1.0.0\n')
    const flags = ['--component', 'lamp', '--file', `own=${path}`, '--dry-run']
    const { code, err } = await from('tar', elf(AMD64), 'lamp-1.0.0', ...flags)
    expect([code, err]).toEqual(
      owner === undefined ? [0, expect.any(String)] : [2, expect.stringContaining(`KN1133: `)],
    )
    if (owner !== undefined) expect(err).toContain(`${path} belongs to ${owner}`)
  })

  test('a file of the user takes the place of the one in it', async () => {
    writeFileSync(at('own'), 'KUBELET_EXTRA_ARGS="{{args}}"\n')
    const flags = ['--recipe', 'kubelet', '--as', '1.36.2', '--file', 'own=/etc/default/kubelet', '-o', 'json']
    const { spec } = JSON.parse((await from('tar', elf(AMD64), 'kubelet', ...flags)).out) as MachineComponentInput
    expect(spec.files?.[0]).toMatchObject({
      path: '/etc/default/kubelet',
      format: 'shell',
      template: 'KUBELET_EXTRA_ARGS="{{args}}"\n',
    })
  })

  test('more programs than an agent links are refused with their number', async () => {
    const many = tarOf(Array.from({ length: 40 }, (_, n) => ({ name: `bin/p${n}`, content: 'x', mode: 0o755 })))
    expect((await from('tar', many, 'many-1.0.0.tar', '--component', 'many')).err).toMatch(
      /KN1133: .*40 files to install/,
    )
  })
})

test('every recipe is named, and its unit says what an agent must know', () => {
  expect(RECIPES.map((r) => r.name)).toEqual(RECIPE_NAMES)
  for (const { unit, name } of RECIPES) {
    if (unit === undefined) continue
    const says = unitFacts(unit.text)
    expect(says.programs.length, name).toBe(1)
    // Their descendants are pods.
    if (name === 'kubelet' || name === 'containerd')
      expect(says).toMatchObject({ killMode: 'Process', restart: 'Always' })
  }
})

test.each<[string, ReturnType<typeof unitFacts>]>([
  [
    '[Service]\nExecStart=!/usr/sbin/d $X\nUser=_d\n',
    { restart: 'Always', killMode: 'Group', users: ['_d'], programs: ['/usr/sbin/d'] },
  ],
  [
    '[Service]\nUser=d\nDynamicUser=yes\nRestart=on-abnormal\n',
    { restart: 'OnFailure', killMode: 'Group', users: [], programs: [] },
  ],
  [
    '[Service]\nType=oneshot\nUser=root\nKillMode=process\n',
    { restart: 'Never', killMode: 'Process', users: [], programs: [] },
  ],
])('a unit is read: %j', (text, says) => expect(unitFacts(text)).toEqual(says))

test('a recipe changes only the lines that it names', () => {
  const text = '[Unit]\nConditionCapability=CAP_SYS_TIME\n[Service]\nExecStart=/x\n'
  expect(changedUnit(text, /^ConditionCapability=/, ['StateDirectory=x'])).toBe(
    '[Unit]\n[Service]\nStateDirectory=x\nExecStart=/x\n',
  )
})
