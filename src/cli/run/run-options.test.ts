// What `kubenode run` refuses before it connects anywhere.
import { expect, test } from 'vitest'
import { run } from '../program.ts'

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
  expect(await refused('--call-allow', `https://good.example.org,${place}`)).toMatch(/^KN3080: cannot allow calls to/),
)

test('S13 places that can be meant are taken, and the next thing is looked at', async () =>
  expect(await refused('--call-allow', 'https://hooks.example.org/repairs, http://10.0.0.7:8080')).toMatch(/^KN1301/))

test.each([
  [['--metrics-port', 'abc'], /^KN1309: cannot serve metrics on port "abc"/],
  [['--metrics-port', '70000'], /^KN1309/],
  [
    ['--roles', 'sync,controllers', '--metrics-port', '9100'],
    /^KN1308: cannot serve metrics of sync and controllers on port 9100/,
  ],
  [['--roles', 'sync,controllers', '--metrics-port', '0'], /^KN1320/],
  [['--roles', 'sync,controllers', '--shared-identity'], /^KN1301/],
  [['--metrics-port', '9100'], /^KN1301/],
])('%j', async (args, message) => expect(await refused(...args)).toMatch(message))
