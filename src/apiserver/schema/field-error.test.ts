import { describe, expect, test } from 'vitest'
import {
  StructValue,
  aggregateMessage,
  childPath,
  duplicate,
  fieldErrorMessage,
  fieldOf,
  forbidden,
  internal,
  invalid,
  keyPath,
  notFound,
  notSupported,
  required,
  toCause,
  tooLong,
  tooMany,
  tooShort,
  typeInvalid,
  type FieldError,
} from './field-error.ts'

/** Texts of a kube-apiserver 1.36. */
const RECORDED: readonly (readonly [string, FieldError, string, string])[] = [
  [
    'a string',
    invalid('spec.group', 'fleet', 'should be a domain with at least one dot'),
    'FieldValueInvalid',
    'Invalid value: "fleet": should be a domain with at least one dot',
  ],
  [
    'an empty string',
    invalid('metadata.ownerReferences.uid', '', 'must not be empty'),
    'FieldValueInvalid',
    'Invalid value: "": must not be empty',
  ],
  [
    'null',
    invalid('status.storedVersions', null, 'must have at least one stored version'),
    'FieldValueInvalid',
    'Invalid value: null: must have at least one stored version',
  ],
  [
    'a list',
    invalid('status.storedVersions', ['v1'], 'must have the storage version v2'),
    'FieldValueInvalid',
    'Invalid value: ["v1"]: must have the storage version v2',
  ],
  [
    'a map',
    invalid('a.default', { y: 1 }, 'must not have unknown fields'),
    'FieldValueInvalid',
    'Invalid value: {"y":1}: must not have unknown fields',
  ],
  [
    'a control character',
    invalid('fieldManager', 'a\u0007b', 'invalid character U+0007 (at position 1)'),
    'FieldValueInvalid',
    'Invalid value: "a\\ab": invalid character U+0007 (at position 1)',
  ],
  [
    'a value of the wrong type',
    typeInvalid('a.default', 'string', ' in body must be of type integer: "string"'),
    'FieldValueTypeInvalid',
    'Invalid value: "string":  in body must be of type integer: "string"',
  ],
  ['nothing where something must be', required('spec.containers'), 'FieldValueRequired', 'Required value'],
  [
    'nothing, with a reason',
    required('metadata.name', 'name or generateName is required'),
    'FieldValueRequired',
    'Required value: name or generateName is required',
  ],
  [
    'a value that is not in a list',
    notSupported('spec.restartPolicy', 'Maybe', ['Always', 'OnFailure', 'Never']),
    'FieldValueNotSupported',
    'Unsupported value: "Maybe": supported values: "Always", "OnFailure", "Never"',
  ],
  ['a duplicate', duplicate('spec.containers[1].name', 'a'), 'FieldValueDuplicate', 'Duplicate value: "a"'],
  [
    'something that is not there',
    notFound('spec.containers[0].volumeMounts[0].name', 'nope'),
    'FieldValueNotFound',
    'Not found: "nope"',
  ],
  [
    'something forbidden',
    forbidden('a.uniqueItems', 'uniqueItems cannot be set to true'),
    'FieldValueForbidden',
    'Forbidden: uniqueItems cannot be set to true',
  ],
]

describe('fieldErrorMessage', () => {
  test.each(RECORDED)('says what a real server says of %s', (_, e, reason, message) => {
    expect(toCause(e)).toEqual({ reason, message, field: e.field })
  })

  test('keeps the key order of a struct and sorts that of a map', () => {
    const owner = { kind: 'Event', apiVersion: 'v1' }
    expect(fieldErrorMessage(invalid('f', new StructValue(owner), 'no'))).toBe(
      'Invalid value: {"kind":"Event","apiVersion":"v1"}: no',
    )
    expect(fieldErrorMessage(invalid('f', owner, 'no'))).toBe('Invalid value: {"apiVersion":"v1","kind":"Event"}: no')
  })

  test.each([
    ['an integer', 101, '101'],
    ['an integer beyond 2^53', 2n ** 60n, '1152921504606846976'],
    ['a float', 0.5, '0.5'],
    ['a float with an exponent', 1e21, '1e+21'],
    ['a boolean', false, 'false'],
  ])('prints %s as Go does', (_, value, text) => {
    expect(fieldErrorMessage(invalid('f', value, 'x'))).toBe(`Invalid value: ${text}: x`)
  })

  test('never shows the value of what is too long, missing or forbidden', () => {
    const types = ['FieldValueTooLong', 'FieldValueRequired', 'FieldValueForbidden'] as const
    expect(types.map((type) => fieldErrorMessage({ type, field: 'f', badValue: 'secret', detail: '' }))).toEqual([
      'Too long',
      'Required value',
      'Forbidden',
    ])
  })

  test('counts one and several in words', () => {
    expect(
      [
        tooLong('f', 1),
        tooLong('f', 2),
        tooShort('f', 1),
        tooMany('f', 3, 1),
        tooMany('f', 3, 2),
        internal('f', 'boom'),
      ].map(fieldErrorMessage),
    ).toEqual([
      'Too long: may not be more than 1 byte',
      'Too long: may not be more than 2 bytes',
      'Too short: must be at least 1 character',
      'Too many: 3: must have at most 1 item',
      'Too many: 3: must have at most 2 items',
      'Internal error: boom',
    ])
  })
})

test('a status lists one error plainly, several in brackets and equal ones once', () => {
  const a = required('spec.a')
  expect(aggregateMessage([a])).toBe('spec.a: Required value')
  expect(aggregateMessage([a, a])).toBe('spec.a: Required value')
  expect(aggregateMessage([a, required('spec.b', 'why')])).toBe('[spec.a: Required value, spec.b: Required value: why]')
})

test('paths join by dots and brackets, and the root has the name that Go gives to no path', () => {
  expect([childPath('', 'spec'), childPath('spec', 'a'), keyPath('spec.a', 0), keyPath('p', 'k')]).toEqual([
    'spec',
    'spec.a',
    'spec.a[0]',
    'p[k]',
  ])
  expect([fieldOf(''), fieldOf('spec')]).toEqual(['<nil>', 'spec'])
})
