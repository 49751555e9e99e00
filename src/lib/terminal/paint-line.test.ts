import { expect, test } from 'vitest'
import { linePainter } from './paint-line.ts'
import { paintOf } from './paint.ts'

const marked = linePainter((tone, text) => (tone === undefined ? text : `<${tone} ${text}>`))

test.each([
  [
    'beacon 1.1.0  1[====] 5[=~-!] 10[    ]',
    'beacon 1.1.0  1[<good ====>] 5[<good =><warn ~><warn -><bad !>] 10[    ]',
  ],
  ['test   3/3 machines Ready   beacon 1.1.0 ×3', 'test   <good 3/3 machines Ready>   beacon 1.1.0 ×3'],
  ['prod   1/3 machines Ready', 'prod   <warn 1/3 machines Ready>'],
  [
    'hub    commit 1a2b: Paused (test Failed, pre Waiting)',
    'hub    commit 1a2b: <warn Paused> (test <bad Failed>, pre <warn Waiting>)',
  ],
  ['hub      stopped  stage test', 'hub      <bad stopped>  stage test'],
  ['warning: another user', '<warn warning:> another user'],
  ['ready after 9.1 s', '<good ready after 9.1 s>'],
  ['console (opens once): http://127.0.0.1:1/link/x', 'console (opens once): http://127.0.0.1:1/link/x'],
])('%s', (line, want) => expect(marked(line)).toBe(want))

test('without colors a line stays as it is', () =>
  expect(linePainter(paintOf(false))('test Failed 1/3 machines Ready [==!]')).toBe(
    'test Failed 1/3 machines Ready [==!]',
  ))
