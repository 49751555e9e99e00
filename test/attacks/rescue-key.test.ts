// A stolen rescue key, against a real sshd and the program that the join installs: it runs four commands, and nothing that it sends is evaluated, forwarded or
// repeated on another boot.
import { execFileSync, spawnSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { type RescuePlaces, rescueInstall } from '#agent/join/rescue-script.ts'
import { hostScript } from '#ssh/script.ts'
import { type RescueCommand, rebootCommand } from '#ssh/rescue-commands.ts'
import { SshSessions } from '#ssh/ssh-sessions.ts'
import { type SshServer, missingSshServer, startSshServer } from '#test/support/servers/ssh-server.ts'
import { until } from '#test/support/tools/processes.ts'

const whyNot =
  missingSshServer() ?? (userInfo().uid === 0 ? undefined : 'the program runs as root, and this test does not')
const folder = mkdtempSync(join(tmpdir(), 'kubenode-rescue-'))
const at = (name: string): string => join(folder, name)
const home = at('home')
const keys = join(home, '.ssh/authorized_keys')
const log = at('systemctl.log')
const BOOT = '0b8de1d3-9fd8-4f6a-8a2f-27a4d2c2a1aa'
const LATER = '1c9ef2e4-0ae9-4a7b-9b3a-38b5e3d3b2bb'
const OWNER = '5f0f9a52-7a0c-4d5a-9a55-1f1f6a6f2c3d'
const PATH = process.env['PATH'] ?? ''
const places: RescuePlaces = {
  program: at('opt/rescue'),
  evidence: at('evidence'),
  run: at('run'),
  bootID: at('boot_id'),
  sysrq: at('sysrq'),
  path: `${at('bin')}:${PATH}`,
}
const sessions = new SshSessions({ folder: at('keys'), path: PATH, atOnce: 4 })
let server: SshServer

const program = (name: string, body: string): void =>
  writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${body}\n`, { mode: 0o755 })

/** As the last step of a join does it. */
const install = (from: readonly string[] = [], publicKey = server.client.line.split(' ').slice(0, 2).join(' ')) =>
  spawnSync('sh', ['-s'], {
    input: hostScript(rescueInstall(OWNER, { publicKey, from }, places)),
    env: { PATH: places.path },
    encoding: 'utf8',
  })

beforeAll(async () => {
  if (whyNot !== undefined) return
  for (const name of ['bin', 'home', 'run']) mkdirSync(at(name))
  program('getent', `echo "$2:x:0:0::${home}:/bin/sh"`)
  program('systemctl', `echo "$*" >> ${log}\ncase $1 in is-active) echo active ;; esac`)
  program('journalctl', `printf 'a line\\033[31m of "the agent"\\n'`)
  program('dmesg', `echo 'EXT4-fs error: $(touch ${at('evil')})'`)
  server = await startSshServer({ settings: { AuthorizedKeysFile: keys, AcceptEnv: '*' } })
})
afterAll(async () => {
  await server?.close()
  rmSync(folder, { recursive: true, force: true })
})
beforeEach((context) => {
  if (whyNot !== undefined) context.skip(whyNot)
  for (const name of readdirSync(at('run'))) rmSync(join(at('run'), name))
  rmSync(home, { recursive: true, force: true })
  mkdirSync(home)
  writeFileSync(log, '')
  writeFileSync(places.sysrq, '')
  writeFileSync(places.bootID, `${BOOT}\n`)
  expect(install().stdout).toContain('"name":"rescue","value":"installed"')
})

const run = async (command: RescueCommand) => {
  const { line } = server.host
  const trust = { kind: 'Pinned', hostKey: line } as const
  const went = await sessions.run(
    {
      target: { host: '127.0.0.1', port: server.port, user: 'root', trust },
      identity: { kind: 'Key', privateKey: server.client.secret },
      script: '',
      command,
      sudo: false,
      deadlineMs: 60_000,
    },
    new AbortController().signal,
  )
  return went.kind === 'Done' ? Object.fromEntries(went.facts) : { failure: went.failure, why: went.why }
}

/** With any options and words, as a thief would. */
function ssh(options: readonly string[], words: readonly string[]) {
  writeFileSync(at('known'), server.knownAs(server.host))
  const fixed = ['-F', 'none', '-i', server.client.file, '-p', String(server.port), '-o', 'BatchMode=yes']
  const known = ['-o', `UserKnownHostsFile=${at('known')}`, '-o', 'StrictHostKeyChecking=yes', '-o', 'ConnectTimeout=5']
  return spawnSync('ssh', [...fixed, ...known, ...options, '--', 'root@127.0.0.1', ...words], {
    encoding: 'utf8',
    input: 'touch /nothing\n',
    timeout: 30_000,
  })
}
const ordered = (): readonly string[] =>
  readFileSync(log, 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('is-active'))

const orderedAgo = (when: string) => execFileSync('touch', ['-d', when, join(at('run'), `kubenode-rescue-${BOOT}`)])

describe('the four commands', () => {
  test('state tells the boot and the owner of the host, and changes nothing', async () => {
    expect(await run('state')).toMatchObject({ owner: OWNER, bootID: BOOT, agent: 'active', kubelet: 'active' })
    expect(ordered()).toEqual([])
  })

  test('evidence is saved for root alone, in few files, and what it shows steers no terminal', async () => {
    mkdirSync(places.evidence, { recursive: true })
    for (let i = 0; i < 9; i++) writeFileSync(join(places.evidence, `evidence-2020010${i}T000000Z.txt`), 'x')
    const facts = await run('evidence')
    expect(facts).toMatchObject({ agentSays: 'a line[31m of the agent' })
    expect(statSync(String((facts as { place?: string }).place)).mode & 0o777).toBe(0o600)
    expect(readdirSync(places.evidence)).toHaveLength(3)
    expect(existsSync(at('evil'))).toBe(false)
  })

  test('restart-agent restarts the agent', async () => {
    expect(await run('restart-agent')).toMatchObject({ agent: 'active' })
    expect(ordered()).toContain('restart kubenode-agent.service')
  })

  test('reboot is ordered once for a boot, however often it is sent, and forced only after two minutes', async () => {
    expect(await run(rebootCommand(BOOT))).toMatchObject({ reboot: 'ordered' })
    expect(await run(rebootCommand(BOOT))).toMatchObject({ reboot: 'underway' })
    expect(ordered()).toEqual(['--no-block reboot'])
    orderedAgo('3 minutes ago')
    program('sync', `echo $$ > ${at('sync')}\nexec sleep 300`)
    expect(await run(rebootCommand(BOOT))).toMatchObject({ reboot: 'forced' })
    await until('the forced reboot', () => ordered().length === 2, 30_000)
    expect(ordered()).toEqual(['--no-block reboot', 'reboot --force --force'])
    expect(readFileSync(places.sysrq, 'utf8')).toBe('b\n')
    // It did not wait for the disk: this throws if the process has ended.
    process.kill(Number(readFileSync(at('sync'), 'utf8')))
  })

  test('a reboot that was ordered long ago is ordered again before it is forced', async () => {
    expect(await run(rebootCommand(BOOT))).toMatchObject({ reboot: 'ordered' })
    orderedAgo('20 minutes ago')
    expect(await run(rebootCommand(BOOT))).toMatchObject({ reboot: 'ordered' })
    expect(await run(rebootCommand(BOOT))).toMatchObject({ reboot: 'underway' })
    expect(ordered()).toEqual(['--no-block reboot', '--no-block reboot'])
  })

  test('reboot of an earlier boot is refused: the host has booted since', async () => {
    writeFileSync(places.bootID, `${LATER}\n`)
    expect(await run(rebootCommand(BOOT))).toMatchObject({ reboot: 'done', bootID: LATER })
    expect(ordered()).toEqual([])
  })
})

describe('nothing else', () => {
  test.each([
    'sh',
    '-c id',
    'state; id',
    'state\nid',
    'state ',
    ' state',
    'STATE',
    'state $(touch EVIL)',
    '`touch EVIL`',
    '$(touch EVIL)',
    '*',
    'evidence > EVIL',
    'restart-agent kubelet.service',
    'reboot',
    'reboot ',
    'reboot now',
    `reboot ${BOOT} `,
    `reboot ${BOOT}; touch EVIL`,
    `reboot ${BOOT}\ntouch EVIL`,
    'reboot ../../../../../../tmp/aaaaaaaaaaaaaaaa',
    `reboot ${'$(touch EVIL)'.padEnd(36, 'a')}`,
    'scp -t /etc',
    'rsync --server . /etc',
    `/bin/sh ${places.program} state`,
  ])('%j is refused', (asked) => {
    const { stdout } = ssh([], [asked.replaceAll('EVIL', at('evil'))])
    expect(stdout).toMatch(/"failed".*nothing else/)
    expect(stdout).not.toContain('"done"')
    expect([ordered(), existsSync(at('evil')), readdirSync(at('run'))]).toEqual([[], false, []])
  })

  test('a command of 60 kB is refused', () => {
    expect(ssh([], [`state${' '.repeat(60_000)}`]).stdout).toMatch(/nothing else/)
  })

  test('no shell, no terminal, no subsystem, and standard input is not read', () => {
    for (const options of [[], ['-tt'], ['-s']]) {
      const { stdout, stderr } = ssh(options, options[0] === '-s' ? ['sftp'] : [])
      expect(stdout + stderr).toMatch(/nothing else|subsystem request failed|PTY allocation request failed/)
      expect(stdout).not.toContain('"done"')
    }
    expect(ordered()).toEqual([])
  })

  test('no forwarding: of ports, of the agent, of tunnels', () => {
    expect(ssh(['-W', `127.0.0.1:${server.port}`], []).stderr).toMatch(/prohibited|refused|failed/)
    const remote = ssh(['-o', 'ExitOnForwardFailure=yes', '-R', '0:127.0.0.1:1'], ['state'])
    expect([remote.status, remote.stdout]).toEqual([255, ''])
  })

  test('variables of the client change neither the command nor the programs that it finds', () => {
    writeFileSync(at('env'), `touch ${at('evil')}\n`)
    mkdirSync(at('fake'), { recursive: true })
    writeFileSync(join(at('fake'), 'cat'), `#!/bin/sh\ntouch ${at('evil')}\n`, { mode: 0o755 })
    // BASH_ENV is left out: the login shell itself reads it, before any forced command. No sshd accepts it unless told to.
    for (const variable of [
      `ENV=${at('env')}`,
      `PATH=${at('fake')}:${PATH}`,
      `IFS=/`,
      `SSH_ORIGINAL_COMMAND=reboot ${BOOT}`,
    ]) {
      const { stdout } = ssh(['-o', `SetEnv="${variable}"`], ['state'])
      expect(stdout).toContain(BOOT)
    }
    expect([ordered(), existsSync(at('evil'))]).toEqual([[], false])
  })

  test('from another address than those of the Secret, not even a login', () => {
    expect(install(['192.0.2.0/24']).stdout).toContain('installed')
    expect(ssh([], ['state']).stderr).toContain('Permission denied')
    expect(install(['127.0.0.0/8']).stdout).toContain('installed')
    expect(ssh([], ['state']).stdout).toContain(BOOT)
  })
})

describe('the line in authorized_keys', () => {
  test('is one, however often it is installed, and the lines of others stay', () => {
    const other = `${server.other.line} of a person`
    writeFileSync(keys, other, { mode: 0o600 })
    for (let i = 0; i < 3; i++) expect(install().stdout).toContain('installed')
    const lines = readFileSync(keys, 'utf8').trimEnd().split('\n')
    expect(lines).toEqual([
      other,
      expect.stringMatching(/^restrict,command="\/bin\/sh .*" ssh-ed25519 .* kubenode-rescue$/),
    ])
    expect(statSync(keys).mode & 0o777).toBe(0o600)
  })

  test('is not written where the key may log in already: sshd takes the first line', () => {
    writeFileSync(keys, `${server.client.line}\n`)
    expect(install().stdout).toMatch(/"failed".*without its limits/)
    expect(readFileSync(keys, 'utf8')).toBe(`${server.client.line}\n`)
  })

  test('the program can be read by the user who logs in, and is not written where others could replace it', () => {
    const place = dirname(places.program)
    expect(statSync(place).mode & 0o777).toBe(0o755)
    rmSync(keys)
    chmodSync(place, 0o777)
    expect(install().stdout).toMatch(/"failed".*writable by others/)
    chmodSync(place, 0o755)
    expect(existsSync(keys)).toBe(false)
  })

  test('is not written through a link', () => {
    rmSync(keys)
    execFileSync('ln', ['-s', at('elsewhere'), keys])
    expect(install().stdout).toMatch(/"failed".*is a link/)
    expect(existsSync(at('elsewhere'))).toBe(false)
  })
})
