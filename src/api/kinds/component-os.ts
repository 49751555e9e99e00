// What a component of type OS boots: a kernel from packages of the distribution, with boot arguments, or a whole image with its own.
import * as s from '../build.ts'
import { check } from '../extras.ts'

const path = s.str('Path of a package inside the archive, ending in .deb or .rpm.', {
  min: 5,
  max: 256,
  pattern: '^[A-Za-z0-9][A-Za-z0-9._+~:@/-]*\\.(deb|rpm)$',
  expects: 'the path of a .deb or .rpm file inside the archive',
})

/** Decides what the machine boots at all; another root or first program is another machine, and without its services no agent runs. */
const RESERVED = /^(root|init|rdinit|BOOT_IMAGE|initrd|kubenode\..*|single|1|[Ss]|emergency|rescue|systemd\.unit)(=|$)/
export const isReservedArgument = (value: string): boolean => RESERVED.test(value)
const reserved = (value: unknown): string | undefined =>
  typeof value === 'string' && isReservedArgument(value) ? 'is decided by the host and the agent' : undefined

/** Characters that mean something to GRUB, to systemd-boot or to the kernel are left out. */
const argument = s.refine(
  s.str('One boot argument.', {
    min: 1,
    max: 128,
    pattern: '^[A-Za-z0-9][A-Za-z0-9._,:/=@%+-]*$',
    expects: 'one argument without spaces and quotes, such as hugepages=4',
  }),
  {},
  {
    expects: 'a boot argument other than root, init, initrd and those of a rescue shell',
    checks: [check('boot argument', reserved)],
  },
)

const image = s.obj('The image for one architecture.', {
  arch: s.choice('Processor architecture.', ['amd64', 'arm64', 'riscv64', 'ppc64le', 's390x']),
  image: s.str('Repository and digest of the image. A tag is refused: it could name another image tomorrow.', {
    min: 74,
    max: 512,
    pattern: '^[a-z0-9][a-z0-9.-]*(:[0-9]{1,5})?(/[a-z0-9][a-z0-9._-]*)+@sha256:[0-9a-f]{64}$',
    expects: 'a repository and a digest, such as registry.example.com/os/node@sha256:…',
  }),
})

const withPackages = s.rule(
  s.obj('The kernel of a component of type OS.', {
    kernel: s.str('Release of the kernel, as uname -r prints it.', {
      min: 3,
      max: 128,
      pattern: '^[0-9]+\\.[0-9A-Za-z._+~-]+$',
      expects: 'a kernel release such as 6.1.0-28-amd64',
    }),
    packages: s.optional(
      s.list(
        'Packages in the archive, installed beside the running kernel. Nothing else is downloaded: what they depend on must be installed or among them. Absent: the host has the kernel already.',
        path,
        { min: 1, max: 16 },
      ),
    ),
    bootArguments: s.optional(
      s.list(
        'Arguments added to those of the distribution. Without panic= among them, panic=30 is added: a kernel that panics reboots, and the one before boots.',
        argument,
        { min: 1, max: 32 },
      ),
    ),
    images: s.optional(
      s.mapList(
        'Whole images, one per architecture, for hosts that bootc updates. The host pulls them from their registry. The kernel and its arguments are those of the image.',
        image,
        { keys: ['arch'], min: 1, max: 8 },
      ),
    ),
  }),
  {
    cel: "has(self.packages) ? self.packages.all(p, p.endsWith('.deb')) || self.packages.all(p, p.endsWith('.rpm')) : true",
    message: 'the packages must be all .deb or all .rpm',
    holds: ({ packages = [] }) => ['.deb', '.rpm'].some((end) => packages.every((p) => p.endsWith(end))),
  },
)

export const os = s.rule(withPackages, {
  cel: 'has(self.images) ? !has(self.packages) && !has(self.bootArguments) : true',
  message: 'images have their own packages and boot arguments (/usr/lib/bootc/kargs.d)',
  holds: ({ images, packages, bootArguments }) =>
    images === undefined || (packages === undefined && bootArguments === undefined),
})
