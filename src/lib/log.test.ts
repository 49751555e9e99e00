import { expect, test } from 'vitest'
import { type LogFields, lineLogger, loggerTo } from './log.ts'
import { pinoLogger } from './log-pino.ts'

function recording() {
  const lines: [string, string, LogFields][] = []
  return { lines, log: loggerTo((level, message, fields) => void lines.push([level, message, fields])) }
}

test('bound fields are added to each line, those of the line win', () => {
  const { lines, log } = recording()
  log.with({ controller: 'a', key: 'x' }).warn('cannot reconcile', { key: 'y' })
  expect(lines).toEqual([['warn', 'cannot reconcile', { controller: 'a', key: 'y' }]])
})

test.each([
  ['token', { token: 'S' }],
  ['a nested password', { user: { password: 'S' } }],
  ['a bearer token by its camel-case name', { request: { bearerToken: 'S' } }],
  ['a header', { headers: { authorization: 'S' } }],
  ['kubeconfig key data', { users: [{ 'client-key-data': 'S' }] }],
])('S16 %s is masked', (_, fields) => {
  const { lines, log } = recording()
  log.info('seen', fields)
  expect(JSON.stringify(lines)).not.toContain('"S"')
  expect(JSON.stringify(lines)).toContain('[secret]')
})

test('names, keys and references stay readable', () => {
  const { lines, log } = recording()
  log.info('seen', { key: 'k', secretRef: 'r', name: 'n' })
  expect(lines[0]?.[2]).toEqual({ key: 'k', secretRef: 'r', name: 'n' })
})

test('an error is written with its message, code and causes', () => {
  const { lines, log } = recording()
  log.error('failed', { error: new Error('outer', { cause: new TypeError('inner') }) })
  expect(lines[0]?.[2]).toEqual({
    error: { name: 'Error', message: 'outer', cause: { name: 'TypeError', message: 'inner' } },
  })
})

test('a circular value ends instead of overflowing', () => {
  const { lines, log } = recording()
  const circular: Record<string, unknown> = { a: 1 }
  circular['self'] = circular
  log.info('seen', { circular })
  expect(JSON.stringify(lines[0]?.[2])).toContain('[deep]')
})

test('a number that JSON has no form for is written as text', () => {
  const lines: string[] = []
  lineLogger({ write: (line) => void lines.push(line) }).info('seen', { size: 12n })
  expect(JSON.parse(lines[0] ?? '')).toMatchObject({ level: 'info', msg: 'seen', size: '12' })
})

test('lines below the least level are not written', () => {
  const lines: string[] = []
  const log = lineLogger({ write: (line) => void lines.push(line) }, 'warn')
  log.info('not written')
  log.error('written')
  expect(lines).toHaveLength(1)
})

test('pino writes one JSON line with level, time, message and the fields', () => {
  const written: string[] = []
  const log = pinoLogger({ level: 'info', destination: { write: (line) => void written.push(line) } })
  log.debug('not written')
  log.with({ controller: 'c' }).info('reconciled', { key: 'k' })
  expect(written).toHaveLength(1)
  const { time, ...line } = JSON.parse(written[0] ?? '') as Record<string, unknown>
  expect(line).toEqual({ level: 'info', message: 'reconciled', controller: 'c', key: 'k' })
  expect(time).toMatch(/^\d{4}-\d\d-\d\dT/)
})
