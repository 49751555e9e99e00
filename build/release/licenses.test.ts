import { expect, test } from 'vitest'
import { debianLicense, namedLicenses, npmLicense } from './licenses.ts'

test.each([
  ['MIT', 'MIT'],
  ['(MIT AND Zlib)', '(MIT AND Zlib)'],
  ['LGPL-3.0+', 'LGPL-3.0-or-later'],
  ['SEE LICENSE IN LICENSE.txt', 'NOASSERTION'],
  ['MIT OR', 'NOASSERTION'],
])('npm declares %s: %s', (declared, expression) => expect(npmLicense([declared]).expression).toBe(expression))

test('a package of npm that declares nothing has no license that is known', () =>
  expect(npmLicense([]).expression).toBe('NOASSERTION'))

test('all licenses of a Debian package hold, those that SPDX does not list by a reference', () => {
  const { expression, references } = debianLicense([
    'Expat',
    'GPL-2+',
    'LGPL-2.1+',
    'public-domain',
    'GPL-2+ or Artistic',
  ])
  expect(expression).toBe(
    'GPL-2.0-or-later AND LGPL-2.1-or-later AND LicenseRef-Debian-GPL-2-or-later-or-Artistic AND LicenseRef-Debian-public-domain AND MIT',
  )
  expect([...references]).toEqual([
    ['LicenseRef-Debian-public-domain', 'public-domain'],
    ['LicenseRef-Debian-GPL-2-or-later-or-Artistic', 'GPL-2+ or Artistic'],
  ])
  expect(debianLicense([]).expression).toBe('NOASSERTION')
})

test('licenses are read of copyright files in the form for programs, and of no other', () => {
  const form =
    'Format: https://example.org/1.0\n\nFiles: *\nLicense: GPL-2+\n text\n\nFiles: x\nLicense: Expat\n\nLicense: GPL-2+\n'
  expect(namedLicenses(form)).toEqual(['Expat', 'GPL-2+'])
  expect(namedLicenses('This package was made by a person.\nLicense: see below\n')).toEqual([])
})
