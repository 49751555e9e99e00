import { expect, test } from 'vitest'
import { passShare } from './pass-share.ts'

test.each([
  ['one cluster gets as many requests as a server uses well', 1, 100, { clusters: 1, requestsEach: 16 }],
  ['eight clusters share the requests of a pass', 8, 100, { clusters: 8, requestsEach: 16 }],
  ['many clusters get few connections each', 500, 100, { clusters: 32, requestsEach: 4 }],
  ['large clusters are processed eight at a time', 200, 20_000, { clusters: 8, requestsEach: 16 }],
  ['empty clusters count like small ones', 100, 0, { clusters: 32, requestsEach: 4 }],
  ['no cluster needs no more than one place', 0, 0, { clusters: 1, requestsEach: 16 }],
])('%s', (_, clusters, largest, share) => {
  expect(passShare(clusters, largest)).toEqual(share)
})
