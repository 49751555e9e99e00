import { expect, test } from 'vitest'
import { stuckFiles } from './stuck-run.ts'

test.each<[string, readonly string[], number, readonly string[] | undefined]>([
  ['a file that was heard of just now', ['a.test.ts'], 1_000, undefined],
  ['a file in whose longest test nothing ended yet', ['a.test.ts'], 600_000, undefined],
  ['a file that loops without ever waiting', ['a.test.ts'], 900_001, ['a.test.ts']],
  ['no file: the run is between two steps', [], 900_001, undefined],
])('%s', (_, running, silentMs, stuck) => expect(stuckFiles(running, silentMs)).toEqual(stuck))
