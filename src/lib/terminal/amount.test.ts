import { expect, test } from 'vitest'
import { amountLine, countLine } from './amount.ts'

const MB = 1_000_000

test('a rate and the time left are shown once they mean something', () => {
  const line = (doneBytes: number, elapsedMs: number) =>
    amountLine('uploading', { doneBytes, totalBytes: 150 * MB, elapsedMs })
  expect(line(20 * MB, 2_000)).toBe('uploading: 20.0 of 150.0 MB')
  expect(line(0, 60_000)).toBe('uploading: 0.0 of 150.0 MB')
  expect(line(84 * MB, 7_000)).toBe('uploading: 84.0 of 150.0 MB, 12.0 MB/s, 6s left')
  expect(line(1.5 * MB, 30_000)).toBe('uploading: 1.5 of 150.0 MB, 0.1 MB/s, 49m30s left')
})

test('more than was announced leaves no time', () => {
  expect(amountLine('uploading', { doneBytes: 11 * MB, totalBytes: 10 * MB, elapsedMs: 5_000 })).toBe(
    'uploading: 11.0 of 10.0 MB, 2.2 MB/s, 0s left',
  )
})

test('what is counted has a rate and the time left too', () => {
  expect(countLine('importing', 40, 1_200, 1_000)).toBe('importing: 40 of 1200')
  expect(countLine('importing', 400, 1_200, 10_000)).toBe('importing: 400 of 1200, 40 a second, 20s left')
  expect(countLine('importing', 15, 1_200, 10_000)).toBe('importing: 15 of 1200, 1.5 a second, 13m10s left')
})
