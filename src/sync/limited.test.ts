import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import { limited } from './limited.ts'

const LIMITS = { cpuSeconds: '7', openFiles: 64, fileBytes: 1_048_576, dataBytes: 2_147_483_648 }

/** The limits as the started program reads them. */
function limitsOf(hasShell: boolean, limits = LIMITS): Readonly<Record<string, string>> {
  const { file, args } = limited(limits, ['/bin/cat', '/proc/self/limits'], hasShell)
  const text = execFileSync(file, args, { encoding: 'utf8' })
  return Object.fromEntries(
    [...text.matchAll(/^Max (\S+(?: \S+)*?) {2,}(\S+) /gm)].map(([, name = '', soft = '']) => [name, soft]),
  )
}

const EXPECTED = {
  'cpu time': '7',
  'open files': '64',
  'file size': '1048576',
  'data size': '2147483648',
  'core file size': '0',
}

test('a program starts with its limits through a shell', () => expect(limitsOf(true)).toMatchObject(EXPECTED))

test('a limit of files between two blocks of the shell is rounded down, and not left out', () =>
  expect(limitsOf(true, { ...LIMITS, fileBytes: 1_048_577 })).toMatchObject(EXPECTED))

test('and with the same ones where there is no shell', (context) => {
  if (!existsSync('/usr/bin/prlimit')) context.skip('util-linux is not installed here')
  expect(limitsOf(false)).toMatchObject(EXPECTED)
})
