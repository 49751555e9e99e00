import { parseDuration } from '#lib/duration.ts'
import type { Reply } from '#ssh/channel.ts'
import { ChannelLost } from '#ssh/channel.ts'
import { expect, test } from 'vitest'
import { type AllDeps, AllComponents } from '../components/all-components.ts'
import type { Probe } from '../components/probe.ts'
import { filesOverSsh } from '../files/over-ssh.ts'
import { nodeDir } from '../node-dir.ts'
import { groundOverSsh, readFactsOverSsh } from './host-facts.ts'
import { visitPrelude } from './prelude.ts'
import { probeOverSsh, probesRefusal } from './probes.ts'
import { hookOverSsh } from './programs.ts'
import { unitsOverSsh } from './units.ts'

const answering = (stdout: string, more: Partial<Reply> = {}) => {
  const asked: string[] = []
  const ask = async ({ snippet }: { readonly snippet: string }): Promise<Reply> => {
    asked.push(snippet)
    return { code: 0, stdout: Buffer.from(stdout), stderr: '', ...more }
  }
  return { ask, asked }
}
const dir = nodeDir('/var/lib/kubenode', '/')
const deps = (channel: ReturnType<typeof answering>) => ({ channel, dir, environment: { PATH: '/bin', A: "it's" } })
const ESCAPES = '\u001b]0;owned\u0007\u202e'
const probe = (of: object): Probe => ({ name: 'p', interval: '1s', timeout: '1s', settle: '1s', ...of })
const probed = (of: object, channel: ReturnType<typeof answering>) =>
  probeOverSsh(
    probe(of),
    {
      ...deps(channel),
      address: '127.0.0.1',
      systemctl: unitsOverSsh(channel).systemctl,
      now: () => 0,
      leaseRenewal: async () => ({ kind: 'Unknown' }),
    },
    parseDuration('1s'),
  )

test('S36 facts of a host are short, control no terminal, and what is no fact is unknown', async () => {
  const boot = '0bf5aa3c-0d4e-4b59-a6ee-d2b6d1ff6a24'
  const facts = [
    boot,
    `Li${ESCAPES}nux`,
    '../../etc',
    `6.1${ESCAPES}${'9'.repeat(9_000)}`,
    'n',
    '1e9',
    '-4',
    'NaN',
    '2.36; rm',
    'V3',
  ]
  const { host, node, upMs, programs } = await readFactsOverSsh(
    answering([...facts, `ID="$(id)"\n`, 'a'.repeat(90_000), 'rm\nbash'].join('\0')),
  )
  expect(host).toMatchObject({ bootId: boot, cpus: 0, memoryBytes: 0 })
  expect(host.distribution).toBeUndefined()
  expect(node).toMatchObject({ glibc: undefined, cgroup: undefined })
  expect(upMs).toBe(0)
  expect([...programs]).toEqual(['bash'])
  expect(host.kernel.length).toBeLessThanOrEqual(300)
  expect(JSON.stringify(host)).not.toMatch(/\\u001b|\u202e|\\u0007/)
  // Another boot ID means that a reboot is over.
  for (const bootId of ['', 'unknown', `${boot}x`])
    await expect(readFactsOverSsh(answering(`${bootId}\0Linux`))).rejects.toThrow('no boot ID')
})

test('S36 units, processes and room are read from numbers only', async () => {
  const lying = answering(`MainPID=12${ESCAPES}\nActiveState=active${ESCAPES}\n\0boot\0NaN\0garbage\0!!\0-1\0`)
  const { systemctl, kernel } = unitsOverSsh(lying)
  const [state] = await systemctl.show(['a.service'])
  expect(state?.active).not.toBe('active')
  expect(JSON.stringify(state)).not.toContain('\\u001b')
  expect(kernel.process(12)).toBeUndefined()
  expect(await groundOverSsh(answering('1e99 4096 -1 0\n')).room('/')).toBeUndefined()
  expect(await groundOverSsh(answering('7\n../x\n')).there(['/a'])).toEqual(new Set())
  expect(await groundOverSsh(answering('not a program')).elf('/a')).toBeUndefined()
})

/** What is outside of single quotes, as a shell reads them. */
const bareOf = (snippet: string): string => snippet.replaceAll(/'[^']*'|\\'/g, '')

test('no value of a component or of a Machine is more than a word for the shell', async () => {
  const channel = answering('BE', { code: 1 })
  const evil = `'; touch /tmp/x; echo '$(id)\``
  await expect(hookOverSsh(deps(channel))([`/bin/${evil}`, evil], 1_000)).rejects.toThrow('KN8033')
  await probed({ http: { port: 1, path: `/${evil}`, tls: false } }, channel)
  await probed({ file: { path: `/${evil}` } }, channel)
  await unitsOverSsh(channel)
    .systemctl.run('restart', '--', evil)
    .catch(() => undefined)
  for (const snippet of channel.asked) expect(bareOf(snippet)).not.toContain('touch')
  expect(bareOf(visitPrelude(nodeDir(`/a ${evil}`, '/')))).not.toContain('touch')
})

test('a probe answers whatever the host says, also when the session is lost', async () => {
  expect(await probed({ http: { port: 1, path: '/', tls: false } }, answering('200'))).toEqual({ kind: 'Pass' })
  expect(await probed({ http: { port: 1, path: '/', tls: false } }, answering('2000'))).toMatchObject({ kind: 'Fail' })
  expect(await probed({ tcp: { port: 1 } }, answering('', { code: 127 }))).toMatchObject({ kind: 'Unknown' })
  expect(await probed({ file: { path: '/a', maxAge: '1m' } }, answering('9\n99\n'))).toMatchObject({ kind: 'Fail' })
  expect(await probed({ file: { path: '/a' } }, answering('x'))).toMatchObject({ kind: 'NoAnswer' })
  const lost = { ask: async () => Promise.reject(new ChannelLost('gone')), asked: [] }
  expect(await probed({ exec: { command: ['/bin/true'] } }, lost)).toMatchObject({ kind: 'Unknown' })
})

test('a program that the full disk of a host did not let start says nothing about a component, and fails as a hook', async () => {
  const full = answering('', { code: 1, stderr: 'No space left on device' })
  const command = ['/bin/true']
  expect(await probed({ exec: { command } }, full)).toMatchObject({ kind: 'Unknown' })
  await expect(hookOverSsh(deps(full))(command, 1_000)).rejects.toThrow(/KN8033.*No space left/)
  expect(await probed({ exec: { command } }, answering('BEno\n', { code: 1 }))).toMatchObject({
    kind: 'Fail',
    message: '/bin/true: exited with code 1: no',
  })
})

test('a runtime is asked by crictl, and only its own word that it is ready counts', async () => {
  const cri = { cri: { socket: '/run/a.sock' } }
  const says = (status: unknown) =>
    probed(cri, answering(JSON.stringify({ status: { conditions: [{ type: 'RuntimeReady', status }] } })))
  expect(await says(true)).toEqual({ kind: 'Pass' })
  expect(await says('true')).toMatchObject({ kind: 'Fail' })
  expect(await probed(cri, answering('{"status":[]}'))).toMatchObject({ kind: 'Fail' })
  expect(await probed(cri, answering('', { code: 1, stderr: 'refused' }))).toEqual({
    kind: 'NoAnswer',
    message: 'CRI: refused',
  })
  expect(await probed(cri, answering('', { code: 127 }))).toMatchObject({ kind: 'Unknown' })
})

test('a version whose probes the host cannot run is refused before it is switched', () => {
  const probes = [probe({ name: 'web', http: { port: 1, path: '/', tls: false } })]
  expect(probesRefusal({ probes }, new Set(['bash']))).toContain('probe web needs curl')
  expect(probesRefusal({ probes }, new Set(['curl']))).toBeUndefined()
})

test('S36 what a host can make the controllers keep in memory is bounded', async () => {
  const files = filesOverSsh(answering('x'.repeat(2 ** 21)))
  for (let n = 0; n < 8; n++) await files.read(`/${n}`)
  await files.read('/7')
  await expect(files.read('/8')).rejects.toThrow('too much memory')
  const names = Array.from({ length: 129 }, (_, n) => `c-${n}`)
  const components = new AllComponents({
    dir,
    files: { remove: async () => undefined, list: async () => names },
    processes: { onChange: () => undefined },
  } as unknown as AllDeps)
  await expect(components.load()).rejects.toThrow('129 folders, more than 128')
})
