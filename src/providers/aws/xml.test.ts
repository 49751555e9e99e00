// The parser of EC2's XML: refuses what the vendor never sends, so that no answer is misread or truncated.
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inFull } from '#test/support/tools/full.ts'
import { parseXml, xmlItems, xmlText } from './xml.ts'

const nested = (depth: number): string => '<a>'.repeat(depth) + '</a>'.repeat(depth)

describe('unreadable', () => {
  test.each([
    ['text beside elements', '<R>text<a>1</a>more</R>'],
    ['a comment inside a value', '<R><id>i-1<!-- x -->2</id></R>'],
    ['a host inside a comment', '<R><!-- <id>i-1</id> --><id>i-2</id></R>'],
    ['CDATA', '<R><id><![CDATA[i-1]]></id></R>'],
    ['an entity of the document', '<!DOCTYPE R [<!ENTITY a "b">]><R>&a;</R>'],
    ['a file as an entity', '<!DOCTYPE R [<!ENTITY a SYSTEM "file:///etc/passwd">]><R>&a;</R>'],
    ['an entity bomb', `<!DOCTYPE R [<!ENTITY a "${'x'.repeat(1_000)}"><!ENTITY b "${'&a;'.repeat(50)}">]><R>&b;</R>`],
    ['an unknown entity', '<R>a &nope; b</R>'],
    ['a bare ampersand', '<R>a & b</R>'],
    ['a character beyond Unicode', '<R>&#x110000;</R>'],
    ['crossed elements', '<R><a><b></a></b></R>'],
    ['two roots', '<R>1</R><R>2</R>'],
    ['text after the root', '<R>1</R>x'],
    ['a processing instruction', '<?xml version="1.0"?><?x y?><R>1</R>'],
    ['the login page of a network', '<html><body><p>login<br></body></html>'],
    ['elements deeper than any answer', nested(34)],
    ['elements so deep that a stack would end', nested(200_000)],
    ['more elements than a page has', `<R>${'<a/>'.repeat(1_000_001)}</R>`],
    ['nothing', ''],
  ])('%s', (_, text) => {
    expect(parseXml(text)).toBeUndefined()
  })

  test('every answer that was cut off', () => {
    const whole = '<R xmlns="http://ec2"><set><item><id>i-1 &amp; &#65;</id></item><item><id/></item></set></R>'
    expect(parseXml(whole)).toBeDefined()
    for (let end = 0; end < whole.length; end++) expect(parseXml(whole.slice(0, end))).toBeUndefined()
  })
})

test('texts, entities and names that JavaScript knows are read as they are', () => {
  const read = parseXml(
    '<R><set><item><constructor> A&#65;&#x42;&lt;&quot; </constructor></item></set><__proto__>p</__proto__><none/></R>',
  )
  expect(xmlText(xmlItems(read, 'R', 'set')?.[0], 'constructor')).toBe(' AAB<" ')
  expect(xmlText(read, 'R', '__proto__')).toBe('p')
  expect(xmlItems(read, 'R', 'none')).toEqual([])
  expect(xmlItems(read, 'R', 'absent')).toBeUndefined()
})

test('any text is read or refused, never an exception', () => {
  const piece = fc.constantFrom(
    '<',
    '>',
    '</',
    '/>',
    '&',
    ';',
    '&lt;',
    '&#',
    'a',
    'R',
    ' ',
    '"',
    '=',
    '<!--',
    '<R>',
    '</R>',
    '<?xml',
    '?>',
    '\0',
  )
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
      const read = parseXml(pieces.join(''))
      expect(read === undefined || Object.keys(read).length === 1).toBe(true)
    }),
    { numRuns: inFull(50_000, 2_000) },
  )
})
