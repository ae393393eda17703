from __future__ import annotations

import numpy as np
import pytest

from pyrua_ros.wire import images


def picture(height=4, width=5):
    return np.random.default_rng(0).integers(0, 256, (height, width, 3), dtype=np.uint8)


def test_colour_survives_the_message():
    rgb = picture()
    np.testing.assert_array_equal(images.decode_color(images.encode_color(rgb)), rgb)


def test_bgr_is_turned_and_mono_is_repeated():
    rgb = picture()
    message = images.encode_color(rgb[:, :, ::-1])
    message.encoding = "bgr8"
    np.testing.assert_array_equal(images.decode_color(message), rgb)
    mono = images.encode_color(rgb)
    mono.encoding, mono.step, mono.data = "mono8", 5, rgb[:, :, 0].tobytes()
    np.testing.assert_array_equal(images.decode_color(mono)[:, :, 2], rgb[:, :, 0])


def test_padding_at_the_end_of_rows_is_left_out():
    rgb = picture()
    padded = np.zeros((4, 20), np.uint8)
    padded[:, :15] = rgb.reshape(4, 15)
    message = images.encode_color(rgb)
    message.step, message.data = 20, padded.tobytes()
    np.testing.assert_array_equal(images.decode_color(message), rgb)


def test_an_image_with_too_few_bytes_is_an_error():
    message = images.encode_color(picture())
    message.data = message.data[:-1]
    with pytest.raises(images.ImageFormatError, match="needs 15 bytes per row"):
        images.decode_color(message)


@pytest.mark.parametrize("big_endian", [False, True])
def test_1000_in_16UC1_is_one_metre_and_zero_is_nothing(big_endian):
    message = images.encode_depth(np.zeros((1, 2), np.float32))
    raw = np.array([[1000, 0]], ">u2" if big_endian else "<u2")
    message.encoding, message.step, message.data = "16UC1", 4, raw.tobytes()
    message.is_bigendian = int(big_endian)
    depth = images.decode_depth(message)
    assert depth[0, 0] == pytest.approx(1.0)
    assert np.isnan(depth[0, 1])


def test_metres_keep_their_value_and_nonsense_becomes_nan():
    depth = np.array([[0.25, 0.0, np.nan, np.inf, -1.0]], np.float32)
    decoded = images.decode_depth(images.encode_depth(depth))
    assert decoded[0, 0] == np.float32(0.25)
    assert np.isnan(decoded[0, 1:]).all()


def test_unknown_encodings_are_named():
    message = images.encode_color(picture())
    message.encoding = "bayer_rggb8"
    with pytest.raises(images.ImageFormatError, match="unknown colour encoding 'bayer_rggb8'"):
        images.decode_color(message)
    with pytest.raises(images.ImageFormatError, match="unknown depth encoding 'bayer_rggb8'"):
        images.decode_depth(message)


def test_a_compressed_image_is_read_in_rgb():
    from sensor_msgs.msg import CompressedImage

    red = np.zeros((16, 16, 3), np.uint8)
    red[:] = (255, 0, 0)
    message = CompressedImage(format="jpeg", data=images.encode_jpeg(red, 95))
    assert np.abs(images.decode_compressed(message)[8, 8].astype(int) - (255, 0, 0)).max() < 6
    with pytest.raises(images.ImageFormatError, match="neither JPEG nor PNG"):
        images.decode_compressed(CompressedImage(format="jpeg", data=b"no"))
