// The numbered errors of packages from Debian.
import { errorTable } from '#lib/error-table.ts'

export const debianErrors = errorTable({
  KN1108_source: {
    text: 'cannot provide {component} {version}: {source} packs to digest {packedDigest}…, but {file} is signed for {signedDigest}…',
    next: 'run kubenode artifact pack, then kubenode artifact sign',
  },
  KN1226: {
    text: 'cannot fetch {name} for version {version} from Debian: {why}',
    next: 'run apt-get update on Debian 12, and check with apt-cache madison that it knows the package',
  },
})
