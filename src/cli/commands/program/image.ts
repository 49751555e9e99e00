// `kubenode image …`: builds the KubeNode image and copies it to registries and hosts.
import { Option, type Command } from 'commander'
import type { Io } from '#lib/terminal/io.ts'
import type { BuildOptions } from '#install/image/build-here.ts'

interface RegistryFlags {
  readonly ca?: string
  readonly dockerConfig?: string
  readonly insecure?: string | true
}

const DEFAULT_NAME = 'kubenode.io/kubenode'

async function sign(image: string, flags: RegistryFlags & { key: string; name?: string }, io: Io): Promise<void> {
  const [{ signImage, readSigningKey }, { openedImage }, { readText }] = await Promise.all([
    import('#artifacts/oci/signature.ts'),
    import('#artifacts/oci/registry-for.ts'),
    import('#artifacts/authoring/statement-file.ts'),
  ])
  const key = readSigningKey(flags.key, readText(flags.key, 'signing key'))
  const digests = await openedImage(image, { ...flags, env: io.env, mayWrite: true }, ({ store, reference, name }) =>
    signImage(store, reference, { key, name: flags.name ?? name }),
  )
  for (const digest of digests) io.out(`${digest}: signed\n`)
}

async function verify(image: string, flags: RegistryFlags & { key: string }, io: Io): Promise<void> {
  const [{ verifyImage, readVerifyingKey }, { openedImage }, { readText }] = await Promise.all([
    import('#artifacts/oci/signature.ts'),
    import('#artifacts/oci/registry-for.ts'),
    import('#artifacts/authoring/statement-file.ts'),
  ])
  const key = readVerifyingKey(flags.key, readText(flags.key, 'public key'))
  const found = await openedImage(image, { ...flags, env: io.env }, ({ store, reference }) =>
    verifyImage(store, reference, key),
  )
  io.out(`${found.digest}: signed as ${found.name} with this key\n`)
}

async function load(layout: string, flags: { address: string; namespace: string }, io: Io): Promise<void> {
  const [{ loadImage }, { asLayoutFile, imageIn, withLayout }] = await Promise.all([
    import('#install/image/load-image.ts'),
    import('#artifacts/oci/layout-file.ts'),
  ])
  const image = await withLayout(layout, async (store) => imageIn(store))
  io.out(`${await asLayoutFile(layout, (file) => loadImage({ file, image, ...flags }))}\n`)
}

export function register(program: Command, io: Io): void {
  const image = program.command('image').description('the container image of KubeNode: build, push, sign, verify, load')
  image
    .command('build')
    .description('build the image from this checkout into an OCI layout: a folder, or a file that ends in .tar')
    .option('--output <path>', 'folder or .tar file to write', '.kubenode/image')
    .option('--arch <list>', 'architectures, joined by commas', 'amd64,arm64')
    .option(
      '--name <ref>',
      'HOST/NAME:TAG as container engines list it; the tag is the version when left out',
      DEFAULT_NAME,
    )
    .option('--cache <dir>', 'where fetched packages are kept; in the cache folder of the user when left out')
    .option(
      '--mirror <url>',
      'mirror of Debian, with its archives below; the apt sources of this machine when left out',
    )
    .action(async (flags: BuildOptions) => (await import('#install/image/build-here.ts')).buildHere(flags, io))
  withRegistry(
    image
      .command('push')
      .description('push a layout with its signatures and lists of contents, and print the reference by digest')
      .argument('<layout>', 'folder or .tar file that kubenode image build made')
      .argument('<ref>', 'HOST/NAME:TAG'),
  ).action(async (layout: string, reference: string, flags: RegistryFlags) =>
    (await import('#install/image/push-here.ts')).pushHere(layout, reference, flags, io),
  )
  withRegistry(
    image
      .command('sign')
      .description('sign an image and each platform of it, as cosign does')
      .argument('<image>', 'layout, or HOST/NAME:TAG, or HOST/NAME@DIGEST')
      .requiredOption('--key <file>', 'private key: ECDSA P-256, as PEM')
      .option('--name <ref>', 'HOST/NAME that is signed; as the image is called when left out'),
  ).action((ref: string, flags: RegistryFlags & { key: string; name?: string }) => sign(ref, flags, io))
  withRegistry(
    image
      .command('verify')
      .description('check that an image is signed with a key, and print the digest')
      .argument('<image>', 'layout, or HOST/NAME:TAG, or HOST/NAME@DIGEST')
      .requiredOption('--key <file>', 'public key, as PEM'),
  ).action((ref: string, flags: RegistryFlags & { key: string }) => verify(ref, flags, io))
  image
    .command('load')
    .description('put the image into the containerd of this host')
    .argument('<layout>', 'folder or .tar file that kubenode image build made')
    .option('--address <socket>', 'socket of containerd', '/run/containerd/containerd.sock')
    .option('--namespace <name>', 'namespace of containerd; kubelets use k8s.io', 'k8s.io')
    .action((layout: string, flags: { address: string; namespace: string }) => load(layout, flags, io))
}

/** No passwords on the command line, where every user of the host can read them. */
const withRegistry = (command: Command): Command =>
  command
    .option('--ca <file>', 'authority of the registry, as PEM')
    .option('--docker-config <file>', 'file with the login of the registry; ~/.docker/config.json when left out')
    .addOption(
      new Option('--insecure [host]', 'no TLS: for a registry on this host, or for the one that is named (HOST:PORT)'),
    )
