// A log on a disk that fills up, behind a pipe without a reader, or on a closed descriptor.
import { describe, expect, test } from 'vitest'
import { lineWriter } from './line-writer.ts'

const error = (code: string) => Object.assign(new Error(code), { code })

/** A descriptor with so much room; without any it fails with the code. */
class Disk {
  text = ''
  room = Number.POSITIVE_INFINITY
  code = 'ENOSPC'
  calls = 0

  readonly write = (_fd: number, bytes: Uint8Array, offset: number): number => {
    this.calls++
    if (this.room <= 0) throw error(this.code)
    const part = bytes.subarray(offset, offset + this.room)
    this.text += Buffer.from(part).toString()
    this.room -= part.length
    return part.length
  }
}

const setup = () => {
  const disk = new Disk()
  return { disk, lines: lineWriter(2, (n) => `lost ${n}\n`, disk.write) }
}

test('lines are written as they come', () => {
  const { disk, lines } = setup()
  lines.write('one\n')
  lines.write('two\n')
  expect(disk.text).toBe('one\ntwo\n')
})

describe.each(['ENOSPC', 'EIO', 'EPIPE', 'EBADF', 'EAGAIN'])('%s', (code) => {
  test('throws nothing, and how many lines were lost is reported once there is room', () => {
    const { disk, lines } = setup()
    Object.assign(disk, { code, room: 0 })
    for (const n of [1, 2, 3]) lines.write(`${n}\n`)
    disk.room = Number.POSITIVE_INFINITY
    lines.write('four\n')
    lines.write('five\n')
    expect(disk.text).toBe('lost 3\nfour\nfive\n')
  })

  test('a line that was cut short is ended before the next one', () => {
    const { disk, lines } = setup()
    Object.assign(disk, { code, room: 3 })
    lines.write('a long line\n')
    disk.room = Number.POSITIVE_INFINITY
    lines.write('next\n')
    expect(disk.text).toBe('a l\nlost 1\nnext\n')
  })
})

test('a pipe that is read late loses nothing, and one that is never read holds up only the first line', () => {
  const { disk, lines } = setup()
  let refusals = 3
  const late = lineWriter(
    2,
    (n) => `lost ${n}\n`,
    (fd, bytes, offset) => {
      if (refusals-- > 0) throw error('EAGAIN')
      return disk.write(fd, bytes, offset)
    },
  )
  late.write('one\n')
  expect(disk.text).toBe('one\n')
  Object.assign(disk, { code: 'EAGAIN', room: 0 })
  lines.write('two\n')
  const before = disk.calls
  for (let n = 0; n < 10; n++) lines.write('three\n')
  expect(disk.calls - before).toBe(10)
})

test('a descriptor that takes nothing ends the try', () => {
  lineWriter(
    2,
    () => '',
    () => 0,
  ).write('one\n')
})
