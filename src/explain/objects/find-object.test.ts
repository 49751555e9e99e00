import { expect, test } from 'vitest'
import { nearName } from './find-object.ts'

const known = ['workers-x7k2p', 'workers-b4nqz', 'gpu-zc5tm', 'control-1']

test.each([
  ['workers-x7k2q', 'workers-x7k2p'],
  ['worker-x7k2p', 'workers-x7k2p'],
  ['workers', 'workers-x7k2p'],
  ['contrl-1', 'control-1'],
  // A deleted machine: another machine of its set is not what the user meant.
  ['workers-mm9vd', undefined],
  ['gpu-hhh2f', undefined],
])('%s: %s', (name, near) => expect(nearName(name, known)).toBe(near))
