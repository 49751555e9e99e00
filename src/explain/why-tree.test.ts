// Tests that the lines of an explanation become a tree with the same texts.
import { expect, test } from 'vitest'
import { treeOfLines } from './why-tree.ts'

const LINES = [
  'machinecomponentset/base is Paused',
  'Blocked for 29s: RevisionFailed',
  '  observed: 1 machine failed (0 allowed)',
  '  to unblock: kubenode rollout retry base --reason WHY',
  'In a slice of machinecomponentset/base (Paused)',
  '  Waiting for 3s: EarlierStage',
  '    unblocks when: stage test has succeeded',
  'kubenode is a word at the start of a line without anything above it',
]

test('indented lines lie below, and what lifts a line is a part of it', () => {
  expect(treeOfLines(LINES)).toEqual({
    text: LINES[0],
    below: [
      {
        text: 'Blocked for 29s: RevisionFailed',
        lift: { text: 'kubenode rollout retry base --reason WHY', isCommand: true },
        below: [{ text: 'observed: 1 machine failed (0 allowed)', below: [] }],
      },
      {
        text: 'In a slice of machinecomponentset/base (Paused)',
        below: [
          {
            text: 'Waiting for 3s: EarlierStage',
            lift: { text: 'stage test has succeeded', isCommand: false },
            below: [],
          },
        ],
      },
      { text: LINES.at(-1), below: [] },
    ],
  })
})

test('nothing explains nothing', () => expect(treeOfLines([])).toEqual({ text: '', below: [] }))
