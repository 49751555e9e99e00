import { describe, expect, it } from 'vitest'
import { compileCel, evaluateCel, type CelEnv } from './cel.ts'
import { BOOL, DOUBLE, DYN, INT, listOf, mapOf, objectOf, STRING } from './types.ts'
import {
  CelDuration,
  CelList,
  CelMap,
  CelOptional,
  CelTimestamp,
  CelTypeValue,
  CelUint,
  type CelValue,
} from './values.ts'

const env: CelEnv = {
  variables: {
    self: objectOf(
      'self',
      new Map([
        ['min', { name: 'min', type: INT }],
        ['max', { name: 'max', type: INT }],
        ['name', { name: 'name', type: STRING }],
        ['ratio', { name: 'ratio', type: DOUBLE }],
        ['items', { name: 'items', type: listOf(STRING) }],
        ['labels', { name: 'labels', type: mapOf(STRING, STRING) }],
        ['port', { name: 'port', type: DYN }],
        ['__namespace__', { name: 'namespace', type: STRING }],
      ]),
    ),
    any: DYN,
    flag: BOOL,
  },
}

/** A value as a test writes it. */
function plain(v: CelValue): unknown {
  if (v instanceof CelList) return v.toArray().map(plain)
  if (v instanceof CelMap) return Object.fromEntries(v.keys().map((k) => [String(k), plain(v.get(k) ?? null)]))
  if (v instanceof CelUint) return `${v.value}u`
  if (v instanceof CelDuration) return `${v.nanos}ns`
  if (v instanceof CelTimestamp) return `@${v.nanos}`
  if (v instanceof CelTypeValue) return v.name
  if (v instanceof CelOptional) return v.value === undefined ? 'none' : { some: plain(v.value) }
  return v
}

function run(expression: string, variables: Record<string, unknown> = {}): unknown {
  const compiled = compileCel(expression, env)
  if (!compiled.ok) throw new Error(compiled.problems)
  const out = evaluateCel(compiled.program, variables)
  return out.ok ? plain(out.value) : `error: ${out.error}`
}

const problemsOf = (expression: string): string => {
  const compiled = compileCel(expression, env)
  return compiled.ok ? '' : compiled.problems
}

const self = {
  min: 1,
  max: 5,
  name: 'añ😀b',
  ratio: 0.5,
  items: ['a', 'b', 'c'],
  labels: { app: 'x', tier: 'y' },
  port: 80,
  namespace: 'ns',
}

const VALUES: readonly (readonly [string, unknown])[] = [
  ['1 + 2 * 3', 7n],
  ['-7 / 2', -3n],
  ['-7 % 2', -1n],
  ['7u / 2u', '3u'],
  ['1.5 + 2.0', 3.5],
  ['9223372036854775807 + 1', 'error: integer overflow'],
  ['-9223372036854775808 - 1', 'error: integer overflow'],
  ['-(-9223372036854775807 - 1)', 'error: integer overflow'],
  ['1 / 0', 'error: division by zero'],
  ['1 % 0', 'error: modulus by zero'],
  ['1.0 / 0.0', Number.POSITIVE_INFINITY],
  ['0u - 1u', 'error: unsigned integer overflow'],
  ['1 < 1.5', true],
  ['2u > 1', true],
  ['dyn(1) == 1.0', true],
  ['9007199254740993 == dyn(9007199254740992.0)', false],
  ['dyn("1") == 1', false],
  ['1 in [1, 2]', true],
  ['1.0 in [dyn(1)]', true],
  ['"a" in {"a": 1}', true],
  ['"toString" in {"a": 1}', false],
  ['true || 1 / 0 > 0', true],
  ['1 / 0 > 0 || true', true],
  ['1 / 0 > 0 && false', false],
  ['1 / 0 > 0 || false', 'error: division by zero'],
  ['false ? 1 : 2', 2n],
  ['[1, 2, 3].all(x, x > 0)', true],
  ['[1, 0].exists(x, 1 / x == 1)', true],
  ['[0, 1].exists(x, 1 / x == 1)', true],
  ['[0, 2].exists(x, 1 / x == 1)', 'error: division by zero'],
  ['[0, 1].all(x, 1 / x == 5)', false],
  ['[1, 2, 2].exists_one(x, x == 2)', false],
  ['[1, 2, 3].map(x, x * 2)', [2n, 4n, 6n]],
  ['[1, 2, 3].map(x, x > 1, x * 2)', [4n, 6n]],
  ['[1, 2, 3].filter(x, x % 2 == 1)', [1n, 3n]],
  ['{"a": 1, "b": 2}.all(k, k < "c")', true],
  ['[5, 6].all(i, v, v == i + 5)', true],
  ['{"a": 1}.exists(k, v, k == "a" && v == 1)', true],
  ['[1, 2].transformList(i, v, i > 0, v * 10)', [20n]],
  ['{"a": 1, "b": 2}.transformMap(k, v, v + 1)', { a: 2n, b: 3n }],
  ['["x"].transformMapEntry(i, v, {v: i})', { x: 0n }],
  ['[1, 2] + [3]', [1n, 2n, 3n]],
  ['[1, 2][1]', 2n],
  ['[1, 2][5]', 'error: index out of bounds: 5'],
  ['{"a": 1}["b"]', 'error: no such key: b'],
  ['{"a": null}["a"]', null],
  ['self.name.size()', 4n],
  ['size(self.items) + size(self.labels)', 5n],
  ['self.name.charAt(2)', '😀'],
  ['self.name.indexOf("b")', 3n],
  ['self.name.substring(1, 3)', 'ñ😀'],
  ['self.name.substring(3, 1)', 'error: invalid substring range. start: 3, end: 1'],
  ['"abcabc".lastIndexOf("bc")', 4n],
  ['"abcabc".lastIndexOf("bc", 3)', 1n],
  ['"a,b,c".split(",")', ['a', 'b', 'c']],
  ['"a,b,c".split(",", 2)', ['a', 'b,c']],
  ['"abc".split("")', ['a', 'b', 'c']],
  ['"aXbX".replace("X", "-")', 'a-b-'],
  ['"aXbX".replace("X", "-", 1)', 'a-bX'],
  ['"ab".replace("", "_")', '_a_b_'],
  ['["a", "b"].join("-")', 'a-b'],
  ['" x ".trim()', 'x'],
  ['"ÄBc".lowerAscii()', 'Äbc'],
  ['"%s has %d, %.2f %x %b".format(["a", 3, 1.5, 255, true])', 'a has 3, 1.50 ff 1'],
  ['"abc".matches("^a.c$")', true],
  ['"a1b22".findAll("[0-9]+")', ['1', '22']],
  ['"a1b22".findAll("[0-9]+", 1)', ['1']],
  ['"a1b22".find("[0-9]+")', '1'],
  ['[3, 1, 2].min()', 1n],
  ['[3, 1, 2].max()', 3n],
  ['[3, 1, 2].sum()', 6n],
  ['[1, 2, 2].isSorted()', true],
  ['["b", "a"].isSorted()', false],
  ['[1, 2, 1].indexOf(1)', 0n],
  ['[1, 2, 1].lastIndexOf(1)', 2n],
  ['sets.contains([1, 2, 3], [3, 1])', true],
  ['sets.equivalent([1, 2], [2, 1, 1])', true],
  ['sets.intersects([1], [2])', false],
  ['type(self.port) == int', true],
  ['type("x") == string', true],
  ['type(duration("1s"))', 'google.protobuf.Duration'],
  ['int("42")', 42n],
  ['int("4x")', "error: type conversion error from 'string' to 'int'"],
  ['int(1.9)', 1n],
  ['int(1e300)', 'error: integer overflow'],
  ['string(1.0)', '1'],
  ['string(3)', '3'],
  ['double("1.5")', 1.5],
  ['bool("true")', true],
  ['duration("1h30m") == duration("90m")', true],
  ['string(duration("90s500ms"))', '90.5s'],
  ['timestamp("2024-01-15T14:30:45Z").getFullYear()', 2024n],
  ['timestamp("2024-01-15T23:30:45Z").getDate("+02:00")', 16n],
  ['timestamp("2024-01-15T14:30:45Z") - duration("45s") < timestamp("2024-01-15T14:30:45Z")', true],
  ['string(timestamp("2024-01-15T14:30:45.120Z"))', '2024-01-15T14:30:45.12Z'],
  ['optional.of(1)', { some: 1n }],
  ['optional.none().orValue(3)', 3n],
  ['{"a": 1}.?a.orValue(0)', 1n],
  ['{"a": 1}.?b.orValue(0)', 0n],
  ['[1][?3].hasValue()', false],
  ['{"a": {"b": 1}}.?x.b.orValue(7)', 7n],
  ['optional.of(2).optMap(x, x * 2)', { some: 4n }],
  ['any.a.?b', 'none'],
  ['any.a.x[0] + 1', 6n],
  ['any.f', 0.5],
  ['any.missing', 'error: no such key: missing'],
  ['any.__proto__', 'error: no such key: __proto__'],
  ['any.constructor', 'error: no such key: constructor'],
  ['self.labels["__proto__"]', 'error: no such key: __proto__'],
  ['has(any.constructor)', false],
  ['has(self.labels.app)', true],
  ['has(self.min) && !has(any.zz)', true],
  ['self.__namespace__', 'ns'],
  ['self.min <= self.max', true],
  ['self.ratio * 2.0', 1],
  ['quantity("1Gi").isGreaterThan(quantity("500Mi"))', true],
  ['quantity("1k").compareTo(quantity("1000"))', 0n],
  ['quantity("1k") == quantity("1000")', true],
  ['quantity("200M").add(quantity("300M")).asInteger()', 500_000_000n],
  ['quantity("50k").sub(20000).asInteger()', 30_000n],
  ['quantity("0.5").asInteger()', 'error: cannot convert value to integer'],
  ['quantity("0.5").asApproximateFloat()', 0.5],
  ['quantity("-1").sign()', -1n],
  ['isQuantity("1.3Gi") && !isQuantity("1 G")', true],
  ['url("https://u@example.com:80/a%20b/c d?k=1&k=2&e=%41+b#f").getHost()', 'example.com:80'],
  ['url("https://[::1]:80/").getHostname()', '::1'],
  ['url("https://example.com:80/").getPort()', '80'],
  ['url("HTTPS://example.com").getScheme()', 'https'],
  ['url("https://x/a%20b/c d").getEscapedPath()', '/a%20b/c%20d'],
  ['url("https://x/?k=1&k=2&e=%41+b").getQuery()', { k: ['1', '2'], e: ['A b'] }],
  ['isURL("/path") && isURL("mailto:a@b.c") && !isURL("path") && !isURL("http://a b/") && !isURL("")', true],
  ['isURL("http://x:a/") || isURL("http://x/%zz")', false],
  ['ip("127.0.0.1").isLoopback() && ip("10.0.0.1").family() == 4', true],
  ['string(ip("2001:0DB8:0:0:0:0:0:1"))', '2001:db8::1'],
  ['string(ip("::"))', '::'],
  ['string(ip("1:0:0:2:0:0:0:3"))', '1:0:0:2::3'],
  ['ip.isCanonical("2001:db8:0::1")', false],
  ['isIP("1.2.3.04") || isIP("::ffff:1.2.3.4") || isIP("fe80::1%eth0")', false],
  ['cidr("192.168.0.0/24").containsIP("192.168.0.9") && !cidr("192.168.0.0/24").containsIP(ip("192.168.1.9"))', true],
  ['cidr("10.0.0.0/8").containsCIDR("10.1.0.0/16") && !cidr("10.0.0.0/16").containsCIDR(cidr("10.0.0.0/8"))', true],
  ['string(cidr("10.1.2.3/8").masked())', '10.0.0.0/8'],
  ['cidr("10.1.2.3/8").ip() == ip("10.1.2.3") && cidr("10.1.2.3/8").prefixLength() == 8', true],
  ['isCIDR("10.0.0.0/33") || isCIDR("10.0.0.0")', false],
  ['type(ip("::1")) == net.IP', true],
  ["'%e %.2e'.format([3.14, 0.00123])", '3.140000×10⁰⁰ 1.23×10⁻⁰³'],
  ['dyn([1.0, 2.0]).sum()', 3],
  ["optional.ofNonZeroValue(timestamp('0001-01-01T00:00:00Z')).hasValue()", false],
  ['lists.range(3)', [0n, 1n, 2n]],
  ['[3, 1, 2].reverse()', [2n, 1n, 3n]],
  ['[3, 1, 2].sort()', [1n, 2n, 3n]],
  ['[1, 2, 3].slice(1, 3)', [2n, 3n]],
  ['[1, 2, 3].slice(2, 1)', 'error: cannot slice(2, 1), start index must be less than or equal to end index'],
  ['[1, 2, 1, 2].distinct()', [1n, 2n]],
  ['[[1], [2, 3]].flatten()', [1n, 2n, 3n]],
  ['[dyn(1), dyn([2, dyn([3])])].flatten(2)', [1n, 2n, 3n]],
  ['[dyn(1), dyn("a")].sort()', 'error: list elements must have the same type'],
  ['any.a + "x"', 'error: no such overload'],
  ['any.f.startsWith("x")', 'error: no such overload: startsWith'],
  ['any.s ? 1 : 2', 'error: no such overload'],
]

describe('values', () => {
  it.each(VALUES)('%s', (expression, expected) => {
    expect(run(expression, { self, any: { a: { x: [5] }, f: 0.5, s: 's' }, flag: true })).toEqual(expected)
  })
})

const REFUSED: readonly (readonly [string, string])[] = [
  ['foo', "ERROR: <input>:1:1: undeclared reference to 'foo' (in container '')\n | foo\n | ^"],
  ['self.zz > 1', "ERROR: <input>:1:5: undefined field 'zz'\n | self.zz > 1\n | ....^"],
  ['self.min == 1.0', "1:10: found no matching overload for '_==_' applied to '(int, double)'"],
  ['self.min + 1.0', "found no matching overload for '_+_' applied to '(int, double)'"],
  ['self.name.foo()', "1:14: undeclared reference to 'foo'"],
  ['self.min.startsWith("a")', "found no matching overload for 'startsWith' applied to 'int.(string)'"],
  ['self.min.x', "type 'int' does not support field selection"],
  ['[1, "a"]', "expected type 'int' but found 'string'"],
  ['self.min && true', "expected type 'bool' but found 'int'"],
  ['self.min.all(x, true)', "expression of type 'int' cannot be range of a comprehension"],
  ['self.items.all(x, x)', "expected type 'bool' but found 'string'"],
  ['self.items.all(x.y, true)', 'invalid predicate iteration variable'],
  ['cel.bind(x, 1, x)', "undeclared reference to 'cel'"],
  ['"a".matches("(")', 'invalid matches argument'],
  ['duration("x")', 'invalid duration argument'],
  ['timestamp(-62135596801)', '1:11: invalid timestamp argument'],
  ['[1, 2].sortBy(x, x)', "undeclared reference to 'sortBy'"],
  ['has(self)', 'invalid argument to has() macro'],
  ['1 +', '1:4: Syntax error'],
  ['', '1:1: Syntax error'],
  ['9223372036854775808', 'invalid int literal'],
  ['flag == 1 < 2', 'write parentheses'],
  ['size(self.items,)', 'extraneous input'],
  ['self.b"x"', 'Syntax error'],
  ['true ? 1 : "a"', "found no matching overload for '_?_:_' applied to '(bool, int, string)'"],
]

describe('what is refused when it is compiled', () => {
  it.each(REFUSED)('%s', (expression, problem) => {
    expect(problemsOf(expression)).toContain(problem)
  })

  it('reads a comparison in parentheses beside ==', () => {
    expect(run('flag == (1 < 2)', { flag: true })).toBe(true)
  })
})
