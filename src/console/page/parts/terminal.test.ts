import { expect, test } from 'vitest'
import { piecesOf } from './terminal.ts'

test.each([
  ['kubenode why set/base --context prod', ['kubenode', 'why', 'set/base', '--context prod']],
  ['kubenode get machines -o wide', ['kubenode', 'get', 'machines', '-o wide']],
  ['kubenode plan --dirty', ['kubenode', 'plan', '--dirty']],
  ['kubenode hold --until-healthy --reason WHY', ['kubenode', 'hold', '--until-healthy', '--reason WHY']],
  [
    'kubenode plan --commit 3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e',
    ['kubenode', 'plan', '--commit', '3f1c9e0a7b5d4c2e8f6a1b3c5d7e9f0a2b4c6d8e'],
  ],
  ['', ['']],
])('a line of "%s" breaks only between %j', (command, pieces) => {
  expect(piecesOf(command)).toEqual(pieces)
  expect(piecesOf(command).join(' ')).toBe(command)
})
