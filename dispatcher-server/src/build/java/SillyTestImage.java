import java.awt.Color;
import java.awt.GradientPaint;
import java.awt.Graphics2D;
import java.awt.image.BufferedImage;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import javax.imageio.IIOImage;
import javax.imageio.ImageIO;
import javax.imageio.ImageWriteParam;
import javax.imageio.ImageWriter;
import javax.imageio.stream.MemoryCacheImageOutputStream;

/**
 * Draws the demo's image: a JPEG of exactly 168,161 bytes, the size that published benchmarks of
 * comparable systems use. The quality is the highest that fits, and comment segments fill the rest.
 * The build runs this program with the path of the file to write.
 */
public final class SillyTestImage {
    private static final int SIZE_BYTES = 168_161;
    private static final int WIDTH = 960;
    private static final int HEIGHT = 640;
    private static final int SEED = 20_261_121;
    private static final int LARGEST_SEGMENT_BYTES = 65_535 + 2;
    private static final int SMALLEST_SEGMENT_BYTES = 4;

    public static void main(String[] args) throws IOException {
        System.setProperty("java.awt.headless", "true");
        Path file = Path.of(args[0]);
        if (Files.exists(file) && Files.size(file) == SIZE_BYTES) {
            return;
        }
        Files.createDirectories(file.getParent());
        Files.write(file, pad(largestWithin(draw(), SIZE_BYTES - SMALLEST_SEGMENT_BYTES)));
    }

    private static BufferedImage draw() {
        BufferedImage image = new BufferedImage(WIDTH, HEIGHT, BufferedImage.TYPE_INT_RGB);
        Graphics2D graphics = image.createGraphics();
        graphics.setPaint(new GradientPaint(0, 0, new Color(0x1B4965), WIDTH, HEIGHT, new Color(0xF4A259)));
        graphics.fillRect(0, 0, WIDTH, HEIGHT);
        Random random = new Random(SEED);
        for (int i = 0; i < 900; i++) {
            graphics.setColor(new Color(random.nextInt(256), random.nextInt(256), random.nextInt(256), 150));
            int size = 4 + random.nextInt(60);
            graphics.fillOval(random.nextInt(WIDTH), random.nextInt(HEIGHT), size, size);
        }
        graphics.dispose();
        return image;
    }

    private static byte[] largestWithin(BufferedImage image, int bytes) throws IOException {
        for (int percent = 100; percent > 0; percent--) {
            byte[] jpeg = encode(image, percent / 100f);
            if (jpeg.length <= bytes) {
                return jpeg;
            }
        }
        throw new IllegalStateException("the image is larger than " + bytes + " bytes at the lowest quality");
    }

    private static byte[] encode(BufferedImage image, float quality) throws IOException {
        ImageWriter writer = ImageIO.getImageWritersByFormatName("jpeg").next();
        ImageWriteParam parameters = writer.getDefaultWriteParam();
        parameters.setCompressionMode(ImageWriteParam.MODE_EXPLICIT);
        parameters.setCompressionQuality(quality);
        ByteArrayOutputStream jpeg = new ByteArrayOutputStream();
        try (MemoryCacheImageOutputStream out = new MemoryCacheImageOutputStream(jpeg)) {
            writer.setOutput(out);
            writer.write(null, new IIOImage(image, null, null), parameters);
        } finally {
            writer.dispose();
        }
        return jpeg.toByteArray();
    }

    /** Comments go behind the APP0 segment, which must be the first. */
    private static byte[] pad(byte[] jpeg) {
        int headBytes = 4 + ((jpeg[4] & 0xFF) << 8 | jpeg[5] & 0xFF);
        ByteArrayOutputStream out = new ByteArrayOutputStream(SIZE_BYTES);
        out.write(jpeg, 0, headBytes);
        for (int left = SIZE_BYTES - jpeg.length; left > 0; ) {
            int segment = Math.min(left, LARGEST_SEGMENT_BYTES);
            if (left - segment > 0 && left - segment < SMALLEST_SEGMENT_BYTES) {
                segment -= SMALLEST_SEGMENT_BYTES;
            }
            comment(out, segment);
            left -= segment;
        }
        out.write(jpeg, headBytes, jpeg.length - headBytes);
        return out.toByteArray();
    }

    private static void comment(ByteArrayOutputStream out, int segmentBytes) {
        int lengthField = segmentBytes - 2;
        out.write(0xFF);
        out.write(0xFE);
        out.write(lengthField >>> 8);
        out.write(lengthField);
        byte[] words = "silly test image ".getBytes(StandardCharsets.US_ASCII);
        for (int i = 0; i < lengthField - 2; i++) {
            out.write(words[i % words.length]);
        }
    }
}
