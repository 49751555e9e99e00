import { describe, expect, test } from 'vitest'
import { effectiveFormat, stringFormat } from './formats.ts'

/** Valid and invalid texts for each format, as judged by the Go functions behind the server. */
const FORMATS: Readonly<Record<string, { readonly good: readonly string[]; readonly bad: readonly string[] }>> = {
  bsonobjectid: { good: ['507f1f77bcf86cd799439011'], bad: ['507f1f77bcf86cd79943901', 'z07f1f77bcf86cd799439011'] },
  uri: {
    good: ['http://a.b/c?d#e', '/path', 'https://u:p@h:80', 'http://[::1]:8080/', 'x+y://h', '/a b'],
    bad: ['', 'a/b', 'mailto:a@b', 'http://a b/', 'http://h:port/', '/%zz', '/a\u0001'],
  },
  email: {
    good: ['a@b', 'a.b+c@d.example', 'Ann <ann@example.org>', '"a b"@c'],
    bad: ['', 'a', '@b', 'a@', 'a b@c', 'a@b c'],
  },
  hostname: {
    good: ['example.com', 'a', '1host', 'a-b', 'my-host.example.com', 'a.b.münchen'],
    bad: ['', '-a', 'a..b', 'a_b', 'my-host', 'example.1', `${'a'.repeat(64)}.com`],
  },
  ipv4: { good: ['10.0.0.1', '010.000.0.1', '::ffff:10.0.0.1'], bad: ['', '10.0.0', '256.0.0.1', '::1', '10.0.0.1/8'] },
  ipv6: { good: ['::1', 'fe80::1', '::ffff:10.0.0.1'], bad: ['', '10.0.0.1', 'fe80::1%eth0', 'g::1'] },
  cidr: {
    good: ['10.0.0.0/8', 'fe80::/10', '010.0.0.0/8'],
    bad: ['10.0.0.0', '10.0.0.0/33', 'fe80::/129', '10.0.0.0/x'],
  },
  mac: {
    good: ['01:23:45:67:89:ab', '01-23-45-67-89-AB', '0123.4567.89ab', '01:23:45:67:89:ab:cd:ef'],
    bad: ['', '01:23:45:67:89', '01:23-45:67:89:ab', '0123456789ab'],
  },
  uuid: {
    good: ['A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11', 'a0eebc999c0b4ef8bb6d6bb9bd380a11'],
    bad: ['', 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1'],
  },
  uuid3: { good: ['a0eebc99-9c0b-3ef8-bb6d-6bb9bd380a11'], bad: ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'] },
  uuid4: { good: ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'], bad: ['a0eebc99-9c0b-4ef8-cb6d-6bb9bd380a11'] },
  uuid5: { good: ['a0eebc99-9c0b-5ef8-bb6d-6bb9bd380a11'], bad: ['a0eebc99-9c0b-3ef8-bb6d-6bb9bd380a11'] },
  isbn: { good: ['0321751043', '978-0321751041'], bad: ['0321751044', '978-0321751042'] },
  isbn10: { good: ['0-8044-2957-X'], bad: ['978-0321751041'] },
  isbn13: { good: ['978 0321751041'], bad: ['0321751043'] },
  creditcard: { good: ['4111 1111 1111 1111', '5500-0000-0000-0004'], bad: ['4111 1111 1111 1112', '1234'] },
  ssn: { good: ['111-22-3333'], bad: ['111223333', '111-22-333'] },
  hexcolor: { good: ['#FFF', 'a0b1c2'], bad: ['#FFFF', 'red'] },
  rgbcolor: { good: ['rgb(0, 10,255)'], bad: ['rgb(0,0,256)', 'rgb(00,0,0)', 'rgb(0,0)'] },
  byte: { good: ['YQ==', 'YWI=', 'YWJj', 'YWJjYWJj'], bad: ['', 'YQ', 'Y===', 'YQ=='.repeat(2), '_w=='] },
  password: { good: ['', 'anything'], bad: [] },
  date: { good: ['2024-02-29', '2000-02-29'], bad: ['2023-02-29', '1900-02-29', '2024-13-01', '2024-1-1', ''] },
  duration: {
    good: ['1h30m', '-1.5h', '22 ns', '2 days', '0', '10 min and a bit'],
    bad: ['', 'soon', '5', '5 lightyears'],
  },
  'date-time': {
    good: ['2014-12-15T19:30:20.000Z', '2014-12-15t19:30:20+01:00'],
    bad: ['2014-12-15', '2014-12-15 19:30:20Z', '2014-12-15T24:00:00Z', '2014-12-15T19:30:20', '2014-13-15T19:30:20Z'],
  },
  'k8s-short-name': { good: ['a', 'a-1'], bad: ['', '-a', 'A', 'a.b', 'a'.repeat(64)] },
  'k8s-long-name': { good: ['a.b-c.d', 'a'.repeat(100)], bad: ['', 'a..b', 'A.b', 'a'.repeat(254)] },
}

const verdicts = (format: string, texts: readonly string[]) => texts.map((t) => [t, stringFormat(format)?.(t)])

describe('string formats', () => {
  test.each(Object.entries(FORMATS))('%s', (format, { good, bad }) => {
    expect(verdicts(format, good)).toEqual(good.map((t) => [t, true]))
    expect(verdicts(format, bad)).toEqual(bad.map((t) => [t, false]))
  })

  // Each text is built to make a backtracking check take more steps than could ever end.
  test.each(Object.keys(FORMATS))('%s ends on long hostile texts', (format) => {
    for (const part of ['1', 'a', 'a.', '1.', ' ', '1 ', ':', '-', '<', '"\\', '0:', 'a@'])
      expect(stringFormat(format)?.(`${part.repeat(50_000)}!`)).toBe(format === 'password')
  })
})

test('a format takes effect only on its own type, and unknown ones not at all', () => {
  expect(
    [
      ['string', 'date'],
      [undefined, 'date'],
      ['integer', 'date'],
      ['integer', 'int32'],
      ['string', 'int32'],
      ['number', 'double'],
      ['object', 'date'],
      ['string', 'colour'],
    ].map(([type, format = '']) => effectiveFormat(type, format)),
  ).toEqual(['date', 'date', '', 'int32', '', 'double', '', ''])
})
