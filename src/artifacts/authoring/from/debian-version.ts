// Debian package versions as component versions. Pure.
import { withoutEnds } from '#lib/without-ends.ts'

/**
 * A version that ranges can compare: `1:1.6.20~ds1-1+deb12u3` becomes `1.6.20+ds1-1-deb12u3`, and `2.0~rc1-1` the prerelease `2.0-rc1-1`. The epoch only orders
 * versions within Debian.
 */
export function semverOfDebian(version: string): string {
  const [head = '', upstream = ''] = /^(?:\d+:)?v?(\d+(?:\.\d+){0,2})/.exec(version) ?? []
  if (upstream === '' || version.includes('\n')) return version
  const rest = version.slice(head.length)
  const tail = withoutEnds(rest.replace(/[^0-9A-Za-z.]+/g, '-'), /[-.]/)
  if (tail === '') return upstream
  return /^~(?:alpha|beta|rc|pre|dev)/i.test(rest) ? `${upstream}-${tail}` : `${upstream}+${tail}`
}
