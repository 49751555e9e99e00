// Packages, images, registries and artifacts.
import type { Advice } from './advice.ts'

export const images = {
  KN1101: {
    cause: 'A folder holds what an archive for nodes cannot hold.',
    check: 'the path in the message, and its type and size',
    do: 'remove or rename it, then pack the folder again',
  },
  KN1108: {
    cause: 'An artifact is not signed by a trusted key, or is not the one that was signed.',
    check: 'the digests in the message, and the keys in the trust document',
    do: 'pack it with kubenode artifact pack and sign that with kubenode artifact sign and a trusted key',
  },
  KN1111: {
    cause: 'A statement cannot be signed with the new key.',
    check: 'the content of the statement in the message',
    do: 'sign it by hand with kubenode artifact sign, or remove it',
  },
  KN1112: {
    cause: 'The folder is not that of an agent.',
    check: '/var/lib/kubenode on a host, or the folder of the node in a local fleet',
    do: 'name the right folder with the option in the message',
  },
  KN1120: {
    cause: 'The lock file of the image is out of date: Debian or the programs need other packages.',
    check: 'deploy/image/debian.lock.json, and the package in the message',
    do: 'run npm run image:lock and commit the result; where Debian still has the version, save it as the named file',
  },
  KN1122: {
    cause: 'A Debian package differs from the digest in the lock file.',
    check: 'where the file came from: the mirror or the cache',
    do: 'find out who changed it before you accept another version with npm run image:lock',
  },
  KN1125: {
    cause: 'npm could not list the packages of the image.',
    check: 'npm --version',
    do: 'install npm 10 or newer',
  },
  KN1126: {
    cause: 'The image cannot be loaded into containerd from here.',
    check: 'whether ctr is installed, and the owner of the socket',
    do: 'run the command as root on the host of the kubelet, with --address of its containerd',
  },
  KN1129: {
    cause: 'No apt source of this machine serves the archive of Debian that the image needs.',
    check: 'the sources in /etc/apt',
    do: 'give --mirror URL, below which the archive is served',
  },
  KN1130: {
    cause: 'A downloaded file is damaged or incomplete.',
    check: 'its digest, and the one that its publisher names',
    do: 'download it again and compare the digests',
  },
  KN1131: {
    cause: 'The package is for another processor than the one asked for.',
    check: 'the processors named in the message',
    do: 'name one of them with --arch, or download the package for your nodes',
  },
  KN1133: {
    cause: 'A component cannot be made from all of this package.',
    check: 'the same command with --dry-run (kubenode artifact from-deb or from-tar), which lists the files',
    do: 'choose with --take, --leave, --unit and --file',
  },
  KN1135: {
    cause: 'A statement with this version exists and names other content.',
    check: 'the download and the options that made the first one',
    do: 'use the same ones, or give the new content another version with --as',
  },
  KN13010: {
    cause: 'The data is no OCI image or layout.',
    check: 'where it came from',
    do: 'name an OCI image, or a layout that kubenode image build made; fetch it again if it was cut short',
  },
  KN13011: {
    cause: 'The reference of an image is wrong, or names nothing.',
    check: 'the name and tag in the message',
    do: 'write HOST/NAME:TAG or HOST/NAME@sha256:DIGEST of an image that exists',
  },
  KN13020: {
    cause: 'The registry cannot be reached.',
    check: 'address, network, and the certificate authority',
    do: 'correct these; a private authority is given with --ca FILE',
  },
  KN13021: {
    cause: 'The registry refused the request.',
    check: 'the status in the message, and the rights in the registry',
    do: 'correct the name of the repository, or ask for rights there',
  },
  KN13022: {
    cause: 'The registry wants a login.',
    check: '~/.docker/config.json',
    do: 'run docker login HOST, or name another file with --docker-config',
  },
  KN13023: {
    cause: 'The registry answered in a way that would leak credentials or data.',
    check: 'the address in the message',
    do: 'ask who runs the registry; nothing was sent there',
  },
  KN13024: {
    cause: 'The registry is served without TLS.',
    check: 'its address',
    do: 'give it a certificate, or allow this host with --insecure HOST',
  },
  KN13030: {
    cause: 'The key for signing images cannot be used.',
    check: 'head -1 of the file',
    do: 'make one with openssl ecparam -genkey -name prime256v1 -noout',
  },
  KN13031: {
    cause: 'The image is not signed by this key.',
    check: 'who published it, and the key',
    do: 'do not run it; ask the publisher, or name another key',
  },
  KN14001: {
    cause: 'Something else writes the Secret with the certificate of artifacts.',
    check: 'kubectl get secret -o yaml: managedFields',
    do: 'let nothing else write it',
  },
  KN14003: {
    cause: 'The folder with artifacts cannot be served.',
    check: 'the volume of role artifacts',
    do: 'mount it, or correct --artifacts-folder',
  },
  KN14005: {
    cause: 'The OCI artifact is not one that can be served.',
    check: 'its layers: each needs a title',
    do: 'push it with titled layers, and name its digest in --artifacts-oci',
  },
} as const satisfies Advice
