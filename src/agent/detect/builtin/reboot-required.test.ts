// What the file says that package managers leave when a reboot is needed.
import { expect, test } from 'vitest'
import { judgeReboot } from './reboot-required.ts'

test.each([
  ['no file', false, undefined, 'False', 'no package asks for a reboot'],
  ['a file without a list', true, undefined, 'True', 'the distribution asks for a reboot'],
  [
    'packages, each once',
    true,
    'linux-image-6.1.0-26-amd64\nlibc6\nlibc6\n',
    'True',
    'the distribution asks for a reboot for linux-image-6.1.0-26-amd64, libc6',
  ],
  [
    'many packages',
    true,
    'a\nb\nc\nd\ne\nf\ng\n',
    'True',
    'the distribution asks for a reboot for a, b, c, d, e and 2 more',
  ],
  ['what is no package', true, '\u001b[2J\n$(reboot)\n\n', 'True', 'the distribution asks for a reboot'],
  ['a list left behind', false, 'libc6\n', 'False', 'no package asks for a reboot'],
])('%s', (_what, isAsked, packages, status, message) =>
  expect(judgeReboot(isAsked, packages)).toMatchObject({ type: 'RebootRequired', status, message }),
)
