// What a wait says on the page: a window with its opening, no name of a permit, no command that the page links to.
import { expect, test } from 'vitest'
import { waitOf } from './parts.ts'

test('a closed window is one sentence with the time at which the next one opens', () => {
  const seen = 'no maintenance window of set/base is open'
  const unblock = 'the next window opens at 2026-01-05T22:00:00Z'
  expect(waitOf({ predicate: 'WaitingForWindow', seen, unblock })).toEqual({
    wait: {
      predicate: 'WaitingForWindow',
      seen: `no maintenance window of set base is open; the next window opens on Mon 5 Jan at 22:00 UTC`,
    },
  })
})

test('what ends a wait for a permit names the gate, not the permit', () => {
  const unblock = 'a window opens; for details run kubenode why operationpermit/base-pulse-29eee5279429-s0-0'
  expect(waitOf({ predicate: 'PermitWaiting', unblock }).wait?.lift).toEqual({
    text: 'a window opens',
    isCommand: false,
  })
})
