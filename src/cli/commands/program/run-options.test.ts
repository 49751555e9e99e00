// Options that `kubenode run` refuses before it connects anywhere.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { run } from '../../program.ts'
import { clusterConfigOf, type RunOptions } from '#programs/run/run-options.ts'

async function refused(...argv: readonly string[]): Promise<string> {
  let err = ''
  const io = { out: () => undefined, err: (t: string) => void (err += t), cwd: '.', env: {}, isTerminal: false }
  expect(await run(['run', '--roles', 'controllers', '--kubeconfig', '/nowhere/kubeconfig', ...argv], io)).not.toBe(0)
  return err
}

test.each([
  'ftp://hooks.example.org',
  'https://ada:word@hooks.example.org',
  'https://hooks.example.org/?q=1',
  'hooks.example.org',
])('S13 a place for webhooks that cannot be meant is refused at the start: %s', async (place) =>
  expect(await refused('--call-allow', `https://good.example.org,${place}`)).toMatch(/^KN1002: cannot allow calls to/),
)

test('S13 places that can be meant are taken, and the next thing is looked at', async () =>
  expect(await refused('--call-allow', 'https://hooks.example.org/repairs, http://10.0.0.7:8080')).toMatch(/^KN1301/))

test.each([
  [['--metrics-port', 'abc'], /^KN1002: cannot serve metrics on port "abc"/],
  [['--metrics-port', '70000'], /^KN1002/],
  [
    ['--roles', 'sync,controllers', '--metrics-port', '9100'],
    /^KN1002: cannot serve metrics of sync and controllers on port 9100/,
  ],
  [['--roles', 'sync,controllers', '--metrics-port', '0'], /^KN1320/],
  [['--roles', 'sync,controllers', '--shared-identity'], /^KN1301/],
  [['--metrics-port', '9100'], /^KN1301/],
])('%j', async (args, message) => expect(await refused(...args)).toMatch(message))

function providersFile(text: string, mode = 0o600): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'run-options-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'providers.yaml')
  writeFileSync(file, text)
  chmodSync(file, mode)
  return ['--providers', file]
}

test.each<[string, string, RegExp]>([
  ['a provider of this name is unknown', 'providers: [{name: proces}]', /^KN1704: .*did you mean process\?/],
  ['an option is missing', 'providers: [{name: process}]', /^KN11030: .*dir is required/],
  ['another user could replace the folder', 'providers: [{name: process, options: {dir: open}}]', /^KN1040/],
  ['all is well', 'providers: [{name: process, options: {dir: nodes}}]', /^KN1301/],
])('a providers file: %s', async (_, text, message) => {
  const [flag = '', file = ''] = providersFile(text)
  const open = join(file, '../open')
  mkdirSync(open)
  chmodSync(open, 0o777)
  expect(await refused(flag, file)).toMatch(message)
})

test('a providers file that every user may write is refused', async () =>
  expect(await refused(...providersFile('providers: []', 0o666))).toMatch(/^KN1040/))

test('a providers file that is not there is refused', async () =>
  expect(await refused('--providers', '/nowhere/providers.yaml')).toMatch(/^KN11030: .*: there is no such file/))

test('a start that is refused leaves the modes of new files as they were', async () => {
  const before = process.umask(0o022)
  onTestFinished(() => void process.umask(before))
  expect(await refused('--metrics-port', '9100')).toMatch(/^KN1301/)
  expect(process.umask()).toBe(0o022)
})

test('hosts are given the authority of now: a rotation replaces it while the program runs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'run-options-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  let own = 'first'
  const cluster = { server: 'https://api.test', ca: () => own, context: 'test', connection: { server: '' } }
  const file = join(folder, 'ca.crt')
  writeFileSync(file, 'given first')
  const [ofProgram, ofFile] = [{}, { hostCa: file }].map((o) => clusterConfigOf(o as RunOptions, cluster))
  expect([ofProgram?.ca(), ofFile?.ca()]).toEqual(['first', 'given first'])
  own = 'first and second'
  writeFileSync(file, 'given second')
  expect([ofProgram?.ca(), ofFile?.ca()]).toEqual(['first and second', 'given second'])
  rmSync(file)
  expect(() => clusterConfigOf({ hostCa: file } as RunOptions, cluster)).toThrow(/^KN1011: /)
})
