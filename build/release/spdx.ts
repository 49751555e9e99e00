// The list of everything in a release, in the form of SPDX 2.3: our programs, npm packages, Node.js, and the image's packages of Debian. Pure.
import type { Component } from './components.ts'
import { debianLicense, npmLicense, type Declared } from './licenses.ts'

export interface SpdxOptions {
  readonly version: string
  readonly revision: string
  /** Of the commit. */
  readonly time: Date
  readonly components: readonly Component[]
}

const OWN = 'SPDXRef-kubenode'
const UNSAID = 'NOASSERTION'
const idOf = (text: string): string => `SPDXRef-${text.replaceAll(/[^A-Za-z0-9.]+/g, '-')}`
const imageOf = (architecture: string): string => idOf(`image-${architecture}`)

const declaredBy = ({ kind, licenses }: Component): Declared =>
  kind === 'npm' ? npmLicense(licenses) : debianLicense(licenses)

export function spdxOf({ version, revision, time, components }: SpdxOptions): object {
  const shipped = components.filter((c) => c.isShipped)
  const references = new Map(shipped.flatMap((c) => [...declaredBy(c).references]))
  const images = [...new Set(shipped.flatMap((c) => c.architecture ?? []))]
  const contains = (container: string, part: string) => ({
    spdxElementId: container,
    relationshipType: 'CONTAINS',
    relatedSpdxElement: part,
  })
  return {
    spdxVersion: 'SPDX-2.3',
    dataLicense: 'CC0-1.0',
    SPDXID: 'SPDXRef-DOCUMENT',
    name: `kubenode-${version}`,
    // A name that no other document has; nothing is served there.
    documentNamespace: `https://kubenode.io/spdx/kubenode-${version}-${revision}`,
    creationInfo: { created: time.toISOString().replace(/\.\d+Z$/, 'Z'), creators: [`Tool: kubenode-${version}`] },
    packages: [
      { ...ourPackage(OWN, 'kubenode', version), primaryPackagePurpose: 'APPLICATION' },
      ...images.map((architecture) => ({
        ...ourPackage(imageOf(architecture), `kubenode-image-${architecture}`, version),
        primaryPackagePurpose: 'CONTAINER',
      })),
      ...shipped.map(packageOf),
    ],
    hasExtractedLicensingInfos: [...references]
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([licenseId, name]) => ({
        licenseId,
        name,
        extractedText: `Called "${name}" in /usr/share/doc/PACKAGE/copyright of the packages that declare it; the image has these files.`,
      })),
    relationships: [
      { spdxElementId: 'SPDXRef-DOCUMENT', relationshipType: 'DESCRIBES', relatedSpdxElement: OWN },
      ...images.map((architecture) => contains(imageOf(architecture), OWN)),
      ...shipped.map((c) => contains(c.architecture === undefined ? OWN : imageOf(c.architecture), idOf(c.purl))),
    ],
  }
}

const ourPackage = (id: string, name: string, version: string) => ({
  SPDXID: id,
  name,
  versionInfo: version,
  downloadLocation: UNSAID,
  filesAnalyzed: false,
  licenseConcluded: UNSAID,
  // No license has been chosen yet.
  licenseDeclared: 'NONE',
  copyrightText: UNSAID,
})

const packageOf = (component: Component) => ({
  ...ourPackage(idOf(component.purl), component.name, component.version),
  licenseDeclared: declaredBy(component).expression,
  checksums: [{ algorithm: component.digest.algorithm.toUpperCase(), checksumValue: component.digest.hex }],
  externalRefs: [{ referenceCategory: 'PACKAGE-MANAGER', referenceType: 'purl', referenceLocator: component.purl }],
})
