// The numbered errors of the container image.
import { errorTable } from '#lib/error-table.ts'

export const imageErrors = errorTable({
  KN1120: {
    text: 'cannot use {file}: {why}',
    next: 'run npm run image:lock',
  },
  KN1120_fetch: {
    text: 'cannot fetch the Debian package {name} {version}: {why}',
    next: 'run npm run image:lock if Debian has a newer version, or save {url} as {file}',
  },
  KN1122: {
    text: 'cannot use the Debian package {name}: {path} is not the file that deploy/image/debian.lock.json names',
    next: 'find out who changed it; npm run image:lock accepts a new version',
  },
  KN1050_fetch: {
    text: 'cannot use the Node.js package {name} {version}: {why}',
    next: 'check the connection to the npm registry, or run npm ci on a machine of that architecture',
  },
  KN1050_image: {
    text: 'cannot put {folder} into the image: it is not the package that package-lock.json names',
    next: 'run npm ci in {root}',
  },
  KN1125: {
    text: 'cannot list the packages of the image: npm sbom failed: {why}',
    next: 'install npm 10 or newer',
  },
  KN1126: {
    text: 'cannot load the image: the program ctr is not installed here',
    next: 'run this on the host of the kubelet: {command}',
  },
  KN1126_socket: {
    text: 'cannot load {file} into containerd at {address}: {why}',
    next: 'check the socket with --address, and that you may use it',
  },
  KN1129: {
    text: 'cannot fetch packages of Debian: no apt source of this machine serves the archive {archive}',
    next: 'name a mirror that has it: kubenode image build --mirror URL, where URL/{archive} is the archive',
  },
  KN1002_arch: {
    text: 'cannot build for {text}',
    next: 'use one of {known}',
  },
})
